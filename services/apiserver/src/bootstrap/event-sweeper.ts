import { EVENTS, type Event } from '@holdfast/api';
import { describeError, parseTime, type Timer } from '@holdfast/platform';
import type { WriteOperation } from '@holdfast/store';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import { EVENT_KEEP_MS, EVENT_SWEEP_BATCH, EVENT_SWEEP_INTERVAL_MS } from '../limits.ts';

export interface EventSweeper {
  start(): void;
  stop(): void;
}

/** Removes events that are older than anybody looks back; several apiservers may do it at once. */
export function createEventSweeper(core: Core): EventSweeper {
  let timer: Timer | undefined;
  let stopped = false;
  const schedule = (): void => {
    timer = core.clock.timer(EVENT_SWEEP_INTERVAL_MS, () => {
      sweep(core)
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

export async function sweep(core: Core): Promise<void> {
  const selection = { namespace: undefined, exactName: undefined, exactField: undefined, matches: undefined };
  const events = core.cache.resource(EVENTS.group, EVENTS.plural).list({ selection })?.objects ?? [];
  const oldest = core.clock.now() - EVENT_KEEP_MS;
  const old = events.filter((each) => lastSeen(each) < oldest);
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

function lastSeen({ object }: CachedObject): number {
  const { lastTimestamp, eventTime, series, metadata } = object as Event;
  const texts = [series?.lastObservedTime, lastTimestamp, eventTime, metadata.creationTimestamp];
  return Math.max(0, ...texts.map((text) => parseTime(text ?? '') ?? 0));
}
