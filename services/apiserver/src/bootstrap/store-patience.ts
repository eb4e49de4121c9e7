import { type Clock, describeError, type Log, OperatorError } from '@holdfast/platform';
import { HALT_NEXT_STEP, OutcomeUnknown, StoreHalted, StoreUnavailable } from '@holdfast/store';
import { STORE_PATIENCE_MS, STORE_PATIENCE_RETRY_MS } from '../limits.ts';

export interface PatienceDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Repeats a step of the start while the store fails in a way that passes. A halt does not pass by waiting. */
export async function untilStoreServes(
  { clock, log }: PatienceDeps,
  signal: AbortSignal,
  step: () => Promise<void>,
): Promise<void> {
  const giveUpAt = clock.monotonic() + STORE_PATIENCE_MS;
  for (let attempt = 1; ; attempt++) {
    try {
      await step();
      return;
    } catch (error) {
      if (error instanceof StoreHalted) throw haltedError(error);
      if (!isPassing(error) || clock.monotonic() >= giveUpAt) throw error;
      if (attempt === 1)
        log.warn('the store is not ready yet, the start waits for it', { reason: describeError(error) });
    }
    await clock.sleep(STORE_PATIENCE_RETRY_MS, signal);
  }
}

const isPassing = (error: unknown): boolean => error instanceof StoreUnavailable || error instanceof OutcomeUnknown;

const haltedError = (cause: StoreHalted): OperatorError =>
  new OperatorError({
    code: 'STORE_HALTED',
    message: cause.message,
    nextStep: `To go on, ${HALT_NEXT_STEP}.`,
    cause,
  });
