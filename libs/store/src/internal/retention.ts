import { HISTORY_MAX_BYTES, HISTORY_MIN_AGE_MS, HISTORY_MIN_REVISIONS } from '../limits.ts';
import type { Revision, StoreUsage } from '../port.ts';
import { historyRoom, leastHistory } from './room.ts';

export interface RetentionLimits {
  readonly minAgeMs: number;
  readonly minRevisions: number;
  readonly maxBytes: number;
}

export const DEFAULT_RETENTION: RetentionLimits = {
  minAgeMs: HISTORY_MIN_AGE_MS,
  minRevisions: HISTORY_MIN_REVISIONS,
  maxBytes: HISTORY_MAX_BYTES,
};

/** The revision of the store at a time of the monotonic clock. */
export interface RevisionSample {
  readonly at: number;
  readonly revision: Revision;
}

export interface HistoryExtent {
  readonly current: Revision;
  readonly compacted: Revision;
  readonly bytes: number;
}

/**
 * Returns the retention limits for as much history as the objects leave room for, or for the minimum when a write found
 * no room. Pure.
 */
export function retentionBeside(
  retention: RetentionLimits,
  { limits, objectBytes }: StoreUsage,
  isRefusing: boolean,
): RetentionLimits {
  if (limits === undefined) return retention;
  const room = historyRoom(limits, objectBytes, retention.maxBytes);
  return { ...retention, maxBytes: isRefusing ? Math.min(room, leastHistory(limits)) : room };
}

/**
 * When the history exceeds the cap, it shrinks to this fraction of the cap, so that the next write does not exceed it
 * again.
 */
const SHRINK_TO = 0.8;

/**
 * Returns the revision up to which history may be dropped now: changes that are older than the minimum age and beyond
 * the minimum number, or more when the history exceeds the cap. Pure. `samples` ascend in time.
 */
export function compactionPoint(
  extent: HistoryExtent,
  samples: readonly RevisionSample[],
  now: number,
  limits: RetentionLimits = DEFAULT_RETENTION,
): Revision {
  const { current, compacted, bytes } = extent;
  const old = samples.findLast((sample) => sample.at <= now - limits.minAgeMs)?.revision ?? compacted;
  const allowed = Math.min(old, current - limits.minRevisions);
  const surplus = bytes > limits.maxBytes ? 1 - (SHRINK_TO * limits.maxBytes) / bytes : 0;
  const forced = compacted + Math.ceil((current - compacted) * surplus);
  return Math.min(current, Math.max(compacted, allowed, forced));
}

/** Drops samples that no later call of `compactionPoint` needs. Pure. */
export function keptSamples(samples: readonly RevisionSample[], now: number, minAgeMs: number): RevisionSample[] {
  const newestOld = samples.findLastIndex((sample) => sample.at <= now - minAgeMs);
  return samples.slice(Math.max(0, newestOld));
}
