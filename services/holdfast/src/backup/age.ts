import { humanDuration } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';

/** A day: what happened since is more than people remember. */
const OLD_MS = 24 * 3_600_000;
/** Clocks of two machines differ a little. */
const AHEAD_MS = 60_000;

export interface BackupAge {
  /** `taken 3h ago`. */
  readonly text: string;
  /** Absent: nothing to be cautious about. */
  readonly caution?: string;
}

/** How old a backup is, and what that means for a cluster that begins with it. */
export function ageOf(takenAt: string, nowMs: number): BackupAge {
  const taken = parseTime(takenAt);
  if (taken === undefined)
    return { text: 'taken at an unknown time', caution: 'the backup does not say when it was taken' };
  const ageMs = nowMs - taken;
  if (ageMs < -AHEAD_MS) {
    return {
      text: `taken at ${takenAt}`,
      caution: `the backup was taken at ${takenAt}, which is in the future: check the clock of this machine`,
    };
  }
  const age = humanDuration(Math.max(0, ageMs));
  const text = `taken ${age} ago`;
  if (ageMs < OLD_MS) return { text };
  return {
    text,
    caution: `the backup is ${age} old: what was written since is missing, and pods that ended since run again; look for a newer one`,
  };
}
