import { existsSync } from 'node:fs';
import { formatTime, OperatorError, parseHttpDate } from '@holdfast/platform';
import { openSession } from '../../session.ts';
import type { Check, Subject } from '../check.ts';
import { type Judgement, ok, problem, warning } from '../finding.ts';

export const CLOCK: Check = {
  name: 'clock',
  look: async (subject) => {
    const nowMs = subject.terminal.clock.now();
    return judgeClock(nowMs, await serverAheadMs(subject));
  },
};

/** Before this version was released no clock is right. */
const RELEASED_MS = 1_730_000_000_000;
const DIFFERENCE_MAX_MS = 5_000;

export function judgeClock(nowMs: number, aheadMs: number | undefined): Judgement {
  if (nowMs < RELEASED_MS)
    return problem(`the clock of this machine says ${formatTime(nowMs)}`, 'Set it: certificates do not count yet.');
  if (aheadMs === undefined) return ok(formatTime(nowMs));
  if (Math.abs(aheadMs) > DIFFERENCE_MAX_MS)
    return warning(
      `the clock of the API server is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this one`,
      'Synchronize both clocks (NTP): tokens, certificates and times of events depend on them.',
    );
  return ok(`${formatTime(nowMs)}, as on the API server`);
}

/** Undefined: no API server answers. */
async function serverAheadMs({ kubeconfig, terminal }: Subject): Promise<number | undefined> {
  if (!existsSync(kubeconfig)) return undefined;
  try {
    await using session = await openSession({ kubeconfig, name: undefined, namespace: undefined }, terminal);
    const { headers } = await session.ask('/readyz');
    const date = parseHttpDate(headers['date'] ?? '');
    return date === undefined ? undefined : date - terminal.clock.now();
  } catch (error) {
    if (error instanceof OperatorError) return undefined;
    throw error;
  }
}
