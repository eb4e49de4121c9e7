import { CONTAINER_BACK_OFF_INITIAL_MS, CONTAINER_BACK_OFF_MAX_MS, CONTAINER_BACK_OFF_RESET_MS } from '../limits.ts';

export interface BackOff {
  readonly delayMs: number;
  /** When the container was last started because of it. */
  readonly startedAt: number;
  /** The life whose back-off was reported as an event. */
  readonly announcedFor?: string;
}

/** Milliseconds until the container that ended at `finishedAt` may start again; 0 = now. The first restart is immediate. */
export function restartDelay(backOff: BackOff | undefined, finishedAt: number, now: number): number {
  if (backOff === undefined || ranLongEnough(backOff, finishedAt)) return 0;
  // The wall clock was set back: waiting until it is there again could take a year, and this happens once for a setting.
  if (finishedAt > now) return 0;
  return Math.max(0, finishedAt + backOff.delayMs - now);
}

export function nextBackOff(backOff: BackOff | undefined, finishedAt: number, now: number): BackOff {
  if (backOff === undefined || ranLongEnough(backOff, finishedAt))
    return { delayMs: CONTAINER_BACK_OFF_INITIAL_MS, startedAt: now };
  return { delayMs: Math.min(backOff.delayMs * 2, CONTAINER_BACK_OFF_MAX_MS), startedAt: now };
}

function ranLongEnough(backOff: BackOff, finishedAt: number): boolean {
  return finishedAt - backOff.startedAt > CONTAINER_BACK_OFF_RESET_MS;
}

/** Milliseconds until something may be tried again. A time that is too far away was noted by a clock that was set since. */
export function untilRetry(retryAt: number | undefined, now: number): number {
  const left = (retryAt ?? now) - now;
  return left > CONTAINER_BACK_OFF_MAX_MS ? 0 : Math.max(0, left);
}

/** Formats durations as Go does: `10s`, `1m20s`, `5m0s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
