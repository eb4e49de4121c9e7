import { EVENTS, type Event } from '@holdfast/api';
import { describeError, nextTurn, parseTime, type Timer } from '@holdfast/platform';
import type { WriteOperation } from '@holdfast/store';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import { EVENT_KEEP_MS, EVENT_SWEEP_BATCH, EVENT_SWEEP_INTERVAL_MS, EVENTS_READ_AT_ONCE } from '../limits.ts';

const ALL = { namespace: undefined, exactName: undefined, exactField: undefined, matches: undefined };

export interface EventSweeper {
  start(): void;
  stop(): void;
}

interface Mark {
  /** Monotonic: a jump of the wall clock ages no event. */
  readonly at: number;
  /** Newest revision at that time: whatever is older was written before. */
  readonly revision: number;
}

/**
 * Removes events that were not updated for the retention time; several API servers may do it concurrently. An event
 * written since the first sweep is dated by its revision without being parsed: there may be a hundred thousand of them.
 */
export function createEventSweeper(core: Core): EventSweeper {
  const marks: Mark[] = [];
  const lastSeen = new WeakMap<CachedObject, number>();
  let timer: Timer | undefined;
  let stopped = false;
  const schedule = (): void => {
    timer = core.clock.timer(EVENT_SWEEP_INTERVAL_MS, () => {
      sweep(core, marks, lastSeen)
        .catch((error: unknown) => core.log.warn('old events were not removed', { error: describeError(error) }))
        .finally(() => {
          if (!stopped) schedule();
        });
    });
  };
  return {
    start: schedule,
    stop: () => {
      stopped = true;
      timer?.cancel();
    },
  };
}

async function sweep(core: Core, marks: Mark[], lastSeen: WeakMap<CachedObject, number>): Promise<void> {
  const uptime = core.clock.monotonic();
  marks.push({ at: uptime, revision: core.cache.revision });
  while ((marks[2]?.at ?? uptime) <= uptime - EVENT_KEEP_MS) marks.splice(1, 1);
  const [first, second] = marks;
  const goneBy = second !== undefined && second.at <= uptime - EVENT_KEEP_MS ? second.revision : 0;
  const old: CachedObject[] = [];
  let read = 0;
  for (const event of core.cache.resource(EVENTS.group, EVENTS.plural).list({ selection: ALL })?.objects ?? []) {
    if (event.revision > (first?.revision ?? 0)) {
      if (event.revision <= goneBy) old.push(event);
      continue;
    }
    if (!lastSeen.has(event) && ++read % EVENTS_READ_AT_ONCE === 0) await nextTurn();
    const seenAt = lastSeen.get(event) ?? lastSeenAt(event);
    lastSeen.set(event, seenAt);
    if (seenAt < core.clock.now() - EVENT_KEEP_MS) old.push(event);
  }
  await remove(core, old);
}

async function remove(core: Core, old: readonly CachedObject[]): Promise<void> {
  for (let start = 0; start < old.length; start += EVENT_SWEEP_BATCH) {
    // An event that was counted up meanwhile makes its batch a conflict: the next sweep looks again.
    await core.store.write(old.slice(start, start + EVENT_SWEEP_BATCH).map(removal));
  }
}

const removal = ({ key, stored, revision }: CachedObject): WriteOperation => ({
  kind: 'delete',
  key,
  value: stored,
  expectedRevision: revision,
});

/** Parses a copy: a value that is read once need not stay in memory. */
function lastSeenAt(event: CachedObject): number {
  const { lastTimestamp, eventTime, series, metadata } = event.mutableCopy() as Event;
  const texts = [series?.lastObservedTime, lastTimestamp, eventTime, metadata.creationTimestamp];
  return Math.max(0, ...texts.map((text) => parseTime(text ?? '') ?? 0));
}
