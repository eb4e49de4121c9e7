import type { Event, ObjectReference } from '@holdfast/api';
import { type Clock, RecentMap } from '@holdfast/platform';
import { createEventBudgets } from './event-budget.ts';
import { EVENT_CACHE_MAX, EVENT_SIMILAR_MAX, EVENT_SIMILAR_WINDOW_MS } from './limits.ts';

export interface RawEvent {
  readonly reference: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly action?: string;
  readonly related?: ObjectReference;
  readonly atMs: number;
  /** The time of the last occurrence. */
  readonly lastAtMs: number;
  readonly times: number;
}

export interface EventDraft {
  readonly key: string;
  readonly reference: ObjectReference;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly action?: string;
  readonly related?: ObjectReference;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The name of an earlier equal event whose count must be raised. */
  readonly name: string | undefined;
}

/**
 * Decides what happens to an event: write a new one, raise the count of a known one, combine it with others, or drop it
 * (spam).
 */
export interface EventCorrelator {
  correlate(event: RawEvent): EventDraft | undefined;
  remember(draft: EventDraft, written: Event): void;
}

interface Similar {
  readonly messages: Set<string>;
  lastAtMs: number;
}

interface Known {
  readonly name: string;
  readonly count: number;
  readonly firstAtMs: number;
}

export function createEventCorrelator({ clock }: { readonly clock: Clock }): EventCorrelator {
  const spend = createEventBudgets();
  const similar = new RecentMap<string, Similar>(EVENT_CACHE_MAX);
  const known = new RecentMap<string, Known>(EVENT_CACHE_MAX);

  const combines = (kindOfEvent: string, event: RawEvent): boolean => {
    const seen = similar.get(kindOfEvent);
    const fresh = seen === undefined || event.atMs - seen.lastAtMs > EVENT_SIMILAR_WINDOW_MS;
    const group: Similar = fresh ? { messages: new Set(), lastAtMs: event.atMs } : seen;
    if (group.messages.size < EVENT_SIMILAR_MAX) group.messages.add(event.message);
    group.lastAtMs = event.lastAtMs;
    similar.set(kindOfEvent, group);
    return group.messages.size >= EVENT_SIMILAR_MAX && !group.messages.has(event.message);
  };

  return {
    correlate: (event) => {
      const about = [event.reference.kind, event.reference.namespace, event.reference.name, event.reference.uid].join(
        '/',
      );
      if (!spend(about, clock.monotonic())) return undefined;
      const kindOfEvent = `${about}/${event.type}/${event.reason}`;
      const combined = combines(kindOfEvent, event);
      const key = combined ? kindOfEvent : `${kindOfEvent}/${event.reference.fieldPath ?? ''}/${event.message}`;
      const before = known.touch(key);
      return {
        key,
        reference: event.reference,
        type: event.type,
        reason: event.reason,
        ...(event.annotations === undefined ? {} : { annotations: event.annotations }),
        ...(event.action === undefined ? {} : { action: event.action }),
        ...(event.related === undefined ? {} : { related: event.related }),
        message: combined ? `(combined from similar events): ${event.message}` : event.message,
        count: (before?.count ?? 0) + event.times,
        firstAtMs: before?.firstAtMs ?? event.atMs,
        lastAtMs: event.lastAtMs,
        name: before?.name,
      };
    },
    remember: (draft, written) =>
      known.set(draft.key, {
        name: written.metadata.name ?? '',
        count: written.count ?? draft.count,
        firstAtMs: draft.firstAtMs,
      }),
  };
}
