import { createSystemClock } from '@holdfast/platform';

const clock = createSystemClock();
const POLL_MS = 50;

/**
 * Waits until `probe` gives something other than `undefined` or `false`, and answers it. Rejects after the deadline with
 * what was waited for and the last error of the probe.
 */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = 30_000,
): Promise<T> {
  const giveUpAt = clock.monotonic() + deadlineMs;
  let lastError: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (clock.monotonic() > giveUpAt) throw new Error(`${what}: not within ${deadlineMs} ms`, { cause: lastError });
    await clock.sleep(POLL_MS);
  }
}
