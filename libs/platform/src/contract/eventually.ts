import { type Clock, createSystemClock } from '../clock.ts';

export interface EventuallyOptions {
  /** Generous: it only decides how long a test that fails takes. */
  readonly deadlineMs?: number;
  readonly pollMs?: number;
  readonly clock?: Clock;
}

const DEADLINE_MS = 60_000;
const POLL_MS = 10;

/**
 * Looks until there is something other than `undefined` or `false`, and answers it. What a look throws counts as not yet; after the
 * deadline the last error is told, with what was waited for.
 */
export async function eventually<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  what: string,
  { deadlineMs = DEADLINE_MS, pollMs = POLL_MS, clock = createSystemClock() }: EventuallyOptions = {},
): Promise<T> {
  const giveUpAt = clock.monotonic() + deadlineMs;
  for (;;) {
    const last: { error?: unknown } = {};
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
    } catch (error) {
      last.error = error;
    }
    if (clock.monotonic() > giveUpAt) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last.error });
    await clock.sleep(pollMs);
  }
}
