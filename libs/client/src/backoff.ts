import type { Clock, Random } from '@holdfast/platform';

/** Waits that double, with jitter (half to whole), for a loop that retries for ever. */
export interface Backoff {
  wait(signal: AbortSignal): Promise<void>;
  reset(): void;
  /** Number of waits since the last reset. */
  failures(): number;
}

export function createBackoff(options: {
  clock: Clock;
  random: Random | undefined;
  baseMs: number;
  maxMs: number;
}): Backoff {
  const { clock, random, baseMs, maxMs } = options;
  let failures = 0;
  return {
    wait: (signal) => {
      const fullMs = Math.min(baseMs * 2 ** failures, maxMs);
      failures++;
      return clock.sleep(random === undefined ? fullMs : fullMs * (0.5 + random.float() / 2), signal);
    },
    reset: () => {
      failures = 0;
    },
    failures: () => failures,
  };
}
