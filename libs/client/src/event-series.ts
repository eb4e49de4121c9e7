import type { ObjectReference } from '@holdfast/api';
import { type Clock, RecentMap } from '@holdfast/platform';
import { createEventBudgets } from './event-budget.ts';
import type { EventCorrelator, RawEvent } from './event-correlator.ts';
import { EVENT_CACHE_MAX, EVENT_SERIES_END_MS } from './limits.ts';

interface Series {
  readonly firstAtMs: number;
  count: number;
  lastAtMs: number;
  /** Absent until the event is written. */
  name: string | undefined;
}

/**
 * Equal events about one object form one series, until none has occurred for a while. Events that exceed the object's
 * budget are not written but counted; the next written event includes them.
 */
export function createEventSeries({ clock }: { readonly clock: Clock }): EventCorrelator {
  const spend = createEventBudgets();
  const known = new RecentMap<string, Series>(EVENT_CACHE_MAX);
  return {
    correlate: (event) => {
      const { lastAtMs, times, atMs } = event;
      const key = keyOf(event);
      const before = known.get(key);
      const goesOn = before !== undefined && atMs - before.lastAtMs <= EVENT_SERIES_END_MS;
      const series: Series = goesOn ? before : { firstAtMs: atMs, lastAtMs, count: 0, name: undefined };
      series.count += times;
      series.lastAtMs = lastAtMs;
      known.set(key, series);
      if (!spend(aboutOf(event.reference), clock.monotonic())) return undefined;
      const { times: _times, atMs: _atMs, ...told } = event;
      return { ...told, ...series, key, name: series.name };
    },
    remember: ({ key }, written) => {
      const series = known.get(key);
      if (series !== undefined) series.name = written.metadata.name;
    },
  };
}

const aboutOf = ({ kind, namespace, name, uid }: ObjectReference): string => [kind, namespace, name, uid].join('/');

function keyOf({ reference, related, type, reason, action, message }: RawEvent): string {
  const involved = [aboutOf(reference), reference.fieldPath, related === undefined ? '' : aboutOf(related)];
  return [...involved, type, reason, action, message].join('/');
}
