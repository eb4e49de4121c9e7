/**
 * Time as a dependency. Nothing outside this package and `main.ts` may read the machine's clock or start a timer,
 * because the simulator runs the same classes on virtual time.
 */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. May jump: use it for timestamps, never for durations. */
  now(): number;
  /** Monotonic milliseconds with an arbitrary origin. Use it for durations and deadlines. */
  monotonic(): number;
  /** Calls `fire` once after `delayMs`, never synchronously. */
  timer(delayMs: number, fire: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer {
  /** Idempotent; a cancelled timer never fires. */
  cancel(): void;
}

/** Node fires a longer timer (above 24.8 days) after 1 ms. */
const TIMER_STEP_MAX_MS = 2 ** 31 - 1;

/** The machine's clock. */
export function createSystemClock(): Clock {
  const timer = (delayMs: number, fire: () => void): Timer => {
    let handle: ReturnType<typeof setTimeout> | undefined;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(leftMs, TIMER_STEP_MAX_MS);
      handle = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : fire()), stepMs);
    };
    arm(Math.max(0, delayMs));
    return { cancel: () => clearTimeout(handle) };
  };
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    timer,
    sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
  };
}

/** Implements `sleep` with the `timer` of a clock. The system clock and every simulated clock use it. */
export function sleepOn(timer: Clock['timer'], delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      pending.cancel();
      reject(signal?.reason);
    };
    const pending = timer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
