import { type Clock, createSystemClock } from '../clock.ts';

export interface EventuallyOptions {
  /** Generous: it only limits how long a failing test takes. */
  readonly deadlineMs?: number;
  readonly pollMs?: number;
  readonly clock?: Clock;
}

const DEADLINE_MS = 60_000;
const POLL_MS = 10;
/** Looks that start a program must not keep those busy whom they look at: they take a third of the time at most. */
const REST_PER_LOOK = 2;
const REST_MAX_MS = 1_000;

/**
 * Polls `look` until it returns something other than `undefined`, `false` or an empty text, and resolves with that. A file
 * exists before its writer has filled it. An error of `look` counts as "not yet". After the deadline it rejects with `what`
 * and the last error.
 */
export async function eventually<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  what: string,
  { deadlineMs = DEADLINE_MS, pollMs = POLL_MS, clock = createSystemClock() }: EventuallyOptions = {},
): Promise<T> {
  const giveUpAt = clock.monotonic() + deadlineMs;
  for (;;) {
    const lookedAt = clock.monotonic();
    const last: { error?: unknown } = {};
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false && seen !== '') return seen;
    } catch (error) {
      last.error = error;
    }
    if (clock.monotonic() > giveUpAt) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last.error });
    const rest = (clock.monotonic() - lookedAt) * REST_PER_LOOK;
    await clock.sleep(Math.max(pollMs, Math.min(rest, REST_MAX_MS)));
  }
}
