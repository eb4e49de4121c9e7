import type { Event } from '@holdfast/api';
import { type Clock, formatMicroTime, formatTime } from '@holdfast/platform';
import { createEventCorrelator, type EventCorrelator, type EventDraft } from './event-correlator.ts';
import { createEventSeries } from './event-series.ts';
import { EVENT_INSTANCE_CHARACTERS_MAX } from './limits.ts';

/**
 * `classic`: core/v1 with first and last time and a count, as kubelets and controllers write it. `series`: as the
 * recorders of events.k8s.io (and so the scheduler) write it, with one exact time and a series for repetitions.
 */
export type EventFormName = 'classic' | 'series';

export interface Reporter {
  readonly component: string;
  readonly host: string | undefined;
}

type Told = Pick<
  Event,
  | 'source'
  | 'reportingComponent'
  | 'reportingInstance'
  | 'firstTimestamp'
  | 'lastTimestamp'
  | 'count'
  | 'eventTime'
  | 'series'
>;

/** The event fields that hold the reporter, the time and the count. */
export interface EventForm {
  readonly correlator: EventCorrelator;
  readonly told: (draft: EventDraft) => Told;
  /** The patch for a repetition. */
  readonly again: (draft: EventDraft) => Readonly<Record<string, unknown>>;
}

export function createEventForm(name: EventFormName, reporter: Reporter, deps: { readonly clock: Clock }): EventForm {
  return name === 'classic' ? classicForm(reporter, deps.clock) : seriesForm(reporter, deps.clock);
}

function classicForm({ component, host }: Reporter, clock: Clock): EventForm {
  return {
    correlator: createEventCorrelator({ clock }),
    told: ({ firstAtMs, lastAtMs, count }) => ({
      source: host === undefined ? { component } : { component, host },
      reportingComponent: component,
      reportingInstance: host ?? '',
      firstTimestamp: formatTime(firstAtMs),
      lastTimestamp: formatTime(lastAtMs),
      count,
      eventTime: null,
    }),
    again: ({ count, lastAtMs, message }) => ({ count, lastTimestamp: formatTime(lastAtMs), message }),
  };
}

function seriesForm({ component, host }: Reporter, clock: Clock): EventForm {
  const instance = host === undefined ? component : `${component}-${host}`.slice(0, EVENT_INSTANCE_CHARACTERS_MAX);
  const series = ({ count, lastAtMs }: EventDraft) => ({ count, lastObservedTime: formatMicroTime(lastAtMs) });
  return {
    correlator: createEventSeries({ clock }),
    told: (draft) => ({
      source: {},
      reportingComponent: component,
      reportingInstance: instance,
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: formatMicroTime(draft.firstAtMs),
      ...(draft.count > 1 ? { series: series(draft) } : {}),
    }),
    again: (draft) => ({ series: series(draft) }),
  };
}
