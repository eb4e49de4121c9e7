import { parseDuration } from '@holdfast/platform';
import { badOption } from './options.ts';

/** A longer step would keep the process busy for hours with the heartbeats of the nodes alone. */
const DURATION_MAX_MS = 366 * 86_400_000;

/** Milliseconds of a number or of a text such as `5m`. */
export function toMilliseconds(duration: string | number): number {
  const ms = typeof duration === 'number' ? duration : parseDuration(duration);
  if (ms !== undefined && Number.isFinite(ms) && ms >= 0 && ms <= DURATION_MAX_MS) return ms;
  throw badOption(
    `${JSON.stringify(duration)} is not a duration`,
    'Use milliseconds, or a text such as "90s", "5m" or "1h30m", of at most 366 days.',
  );
}
