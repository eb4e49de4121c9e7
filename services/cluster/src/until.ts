import { createSystemClock, OperatorError } from '@holdfast/platform';
import type { ClusterTime } from './time.ts';
import { toMilliseconds } from './time-steps.ts';

/** Virtual time passes in steps of this length while something is waited for. */
const VIRTUAL_STEP_MS = 100;
const REAL_STEP_MS = 20;

/** Resolves with the first true value of the condition, which is asked again and again while time passes. */
export async function until<T>(
  time: ClusterTime,
  condition: () => T | Promise<T>,
  within: string | number,
): Promise<T> {
  const real = createSystemClock();
  const giveUpAt = time.clock.monotonic() + toMilliseconds(within);
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (time.clock.monotonic() >= giveUpAt) throw late(within);
    await (time.isVirtual ? time.advance(VIRTUAL_STEP_MS) : real.sleep(REAL_STEP_MS));
  }
}

const late = (within: string | number): OperatorError =>
  new OperatorError({
    code: 'ConditionNotMet',
    message: `the condition was not met within ${typeof within === 'number' ? `${within} ms` : within} of the cluster's time`,
    nextStep: 'Look at the objects that it reads, or give it more time.',
  });
