import type { Clock } from '@holdfast/platform';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Calls `act` at the deadline, or when the caller aborts. */
  onPassed(act: () => void): void;
}

/** Rejects at the deadline, whatever the work does afterwards. */
export async function withDeadline<T>(
  { name, timeoutMs, clock }: { readonly name: string; readonly timeoutMs: number; readonly clock: Clock },
  outer: AbortSignal,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = clock.timer(timeoutMs, () =>
    late.abort(new Error(`agent ${name} gave no answer within ${timeoutMs / 1000} s`)),
  );
  const signal = AbortSignal.any([late.signal, outer]);
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  const onPassed = (act: () => void): void => {
    if (signal.aborted) act();
    else signal.addEventListener('abort', act, { once: true });
  };
  try {
    return await Promise.race([passed, work({ signal, onPassed })]);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', giveUp);
  }
}
