import { setDefault } from '../../defaults/set.ts';
import type { Event, EventsV1Event } from '../../generated/types.ts';
import { EVENTS, EVENTS_EVENTS_V1 } from '../../refs.ts';
import type { KubeObject, StoredAs } from '../../resource.ts';
import { defineResource } from '../define.ts';
import { eventColumns } from '../event/columns.ts';
import { validateEventsCreate, validateEventsUpdate } from '../event/validation.ts';
import { nothingToPrepare } from '../strategy.ts';

const STORED: StoredAs<EventsV1Event> = {
  group: EVENTS.group,
  version: EVENTS.version,
  kind: EVENTS.kind,
  plural: EVENTS.plural,
  toStored,
  fromStored: (stored) => fromStored(asCoreEvent(stored)),
};

/** Events of the newer API: the same objects as core events, with clearer field names. */
export const eventsEventResource = defineResource(EVENTS_EVENTS_V1, {
  setDefaults: (event) => {
    setDefault(event, 'regarding', {});
    setDefault(event, 'deprecatedSource', {});
    event.eventTime ??= null;
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    validateCreate: (event) => validateEventsCreate(toStored(event)),
    validateUpdate: (event, old) => validateEventsUpdate(toStored(event), toStored(old)),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  storedAs: STORED,
  columns: eventColumns.map((column) => ({
    ...column,
    cell: (event, context) => column.cell(toStored(event), context),
  })),
  selectableFields: {
    reason: (event) => event.reason ?? '',
    reportingController: (event) => event.reportingController ?? '',
    type: (event) => event.type ?? '',
    'regarding.kind': (event) => event.regarding.kind ?? '',
    'regarding.namespace': (event) => event.regarding.namespace ?? '',
    'regarding.name': (event) => event.regarding.name ?? '',
    'regarding.uid': (event) => event.regarding.uid ?? '',
    'regarding.apiVersion': (event) => event.regarding.apiVersion ?? '',
    'regarding.resourceVersion': (event) => event.regarding.resourceVersion ?? '',
    'regarding.fieldPath': (event) => event.regarding.fieldPath ?? '',
  },
});

/** The store contains only core events under this address. */
const asCoreEvent = (stored: Readonly<KubeObject>): Readonly<Event> => stored as Readonly<Event>;

function toStored(event: Readonly<EventsV1Event>): Event {
  const { regarding, note, deprecatedSource, deprecatedFirstTimestamp, deprecatedLastTimestamp, ...rest } = event;
  const { deprecatedCount, reportingController, reportingInstance, series, ...same } = rest;
  return {
    ...same,
    apiVersion: 'v1',
    kind: 'Event',
    involvedObject: regarding,
    source: deprecatedSource,
    firstTimestamp: deprecatedFirstTimestamp ?? null,
    lastTimestamp: deprecatedLastTimestamp ?? null,
    eventTime: event.eventTime ?? null,
    reportingComponent: reportingController ?? '',
    reportingInstance: reportingInstance ?? '',
    ...(note === undefined ? {} : { message: note }),
    ...(deprecatedCount === undefined ? {} : { count: deprecatedCount }),
    ...(series === undefined ? {} : { series: { ...series } }),
  };
}

function fromStored(event: Readonly<Event>): EventsV1Event {
  const { involvedObject, message, source, firstTimestamp, lastTimestamp, count, reportingComponent, ...rest } = event;
  const { series, reportingInstance, ...same } = rest;
  return {
    ...same,
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    regarding: involvedObject,
    deprecatedSource: source,
    ...(message === undefined ? {} : { note: message }),
    ...(firstTimestamp === null ? {} : { deprecatedFirstTimestamp: firstTimestamp }),
    ...(lastTimestamp === null ? {} : { deprecatedLastTimestamp: lastTimestamp }),
    ...(count === undefined ? {} : { deprecatedCount: count }),
    ...(reportingComponent === '' ? {} : { reportingController: reportingComponent }),
    ...(reportingInstance === '' ? {} : { reportingInstance }),
    ...(series === undefined
      ? {}
      : { series: { count: series.count ?? 0, lastObservedTime: series.lastObservedTime ?? '' } }),
  };
}
