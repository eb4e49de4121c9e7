import { CONTAINER_BACK_OFF_INITIAL_MS, CONTAINER_BACK_OFF_MAX_MS, CONTAINER_BACK_OFF_RESET_MS } from '../limits.ts';

export interface BackOff {
  readonly delayMs: number;
  /** When the container was last started because of it. */
  readonly startedAt: number;
  /** The life whose waiting was told as an event. */
  readonly announcedFor?: string;
}

/** Milliseconds until the container that ended at `finishedAt` may start again; 0 = now. The first restart is immediate. */
export function restartDelay(backOff: BackOff | undefined, finishedAt: number, now: number): number {
  if (backOff === undefined || ranLongEnough(backOff, finishedAt)) return 0;
  // The wall clock may jump back: nobody waits longer than the back-off itself.
  return Math.min(backOff.delayMs, Math.max(0, finishedAt + backOff.delayMs - now));
}

export function nextBackOff(backOff: BackOff | undefined, finishedAt: number, now: number): BackOff {
  if (backOff === undefined || ranLongEnough(backOff, finishedAt))
    return { delayMs: CONTAINER_BACK_OFF_INITIAL_MS, startedAt: now };
  return { delayMs: Math.min(backOff.delayMs * 2, CONTAINER_BACK_OFF_MAX_MS), startedAt: now };
}

function ranLongEnough(backOff: BackOff, finishedAt: number): boolean {
  return finishedAt - backOff.startedAt > CONTAINER_BACK_OFF_RESET_MS;
}

/** As Go prints durations: `10s`, `1m20s`, `5m0s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
