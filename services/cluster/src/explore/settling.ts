import type { Clock } from '@holdfast/platform';

const LOOK_MS = 20;
/** Shorter than the silence of those who print it: a wait that begins right after a line is told in time. */
const TELL_MS = 1_000;

export interface Settling {
  readonly clock: Clock;
  /** Ends the wait: rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called while nothing rests, with the time since the begin of the wait. */
  readonly onWait?: (waitedMs: number) => void;
  /** Grows with everything that happens. */
  readonly activity: () => number;
  /** True: nothing else is expected. */
  readonly isExpected: () => Promise<boolean>;
  /** What is expected has to stay for so long. */
  readonly shortMs: number;
  /** So long without activity means that nothing else comes. */
  readonly quietMs: number;
  /** Activity that goes on for longer never ends. */
  readonly deadlineMs: number;
}

/** Waits until the operator rests. False: it did not in time. */
export async function settled(options: Settling): Promise<boolean> {
  const { clock, signal, activity, isExpected, onWait, shortMs, quietMs, deadlineMs } = options;
  const begun = clock.monotonic();
  let seen = activity();
  let since = begun;
  let tellAt = begun + TELL_MS;
  for (;;) {
    await clock.sleep(LOOK_MS, signal);
    const now = clock.monotonic();
    if (activity() !== seen) [seen, since] = [activity(), now];
    const restedMs = now - since;
    if (restedMs >= quietMs) return true;
    if (restedMs >= shortMs && (await isExpected()) && activity() === seen) return true;
    if (now >= tellAt) {
      tellAt = now + TELL_MS;
      onWait?.(now - begun);
    }
    if (now - begun > deadlineMs) return false;
  }
}
