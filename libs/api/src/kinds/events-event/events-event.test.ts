import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorMessage } from '@holdfast/machinery';
import type { Event, EventsV1Event } from '../../generated/types.ts';
import { eventResource } from '../event/index.ts';
import { eventsEventResource } from './index.ts';

const CONTEXT = { now: 0 };
const TIME = '2023-01-01T00:00:00.000000Z';

function newEvent(changes: Partial<EventsV1Event> = {}): EventsV1Event {
  const event: EventsV1Event = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'p.1', namespace: 'n' },
    eventTime: TIME,
    regarding: { kind: 'Pod', namespace: 'n', name: 'p' },
    reportingController: 'holdfast.io/scheduler',
    reportingInstance: 'scheduler-0',
    action: 'Binding',
    reason: 'Scheduled',
    note: 'bound to a',
    type: 'Normal',
    deprecatedSource: {},
    ...changes,
  };
  eventsEventResource.setDefaults(event);
  return event;
}

function coreEvent(changes: Partial<Event> = {}): Event {
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'p.1', namespace: 'n' },
    involvedObject: { kind: 'Pod', namespace: 'n', name: 'p' },
    ...changes,
  } as Event;
  eventResource.setDefaults(event);
  return event;
}

const newErrors = (event: EventsV1Event): readonly string[] =>
  eventsEventResource.strategy.validateCreate(event, CONTEXT).map(fieldErrorMessage);
const coreErrors = (event: Event): readonly string[] =>
  eventResource.strategy.validateCreate(event, CONTEXT).map(fieldErrorMessage);

test('an event is the same object in both groups', () => {
  const event = newEvent({ series: { count: 2, lastObservedTime: TIME } });
  const { storedAs } = eventsEventResource;
  assert.ok(storedAs);
  assert.deepEqual(newErrors(event), []);
  assert.deepEqual(storedAs.fromStored(storedAs.toStored(event)), event);
});

test('events of the new group are validated strictly', () => {
  assert.deepEqual(newErrors(newEvent({ type: 'Odd', action: '', note: 'x'.repeat(1025) })), [
    'action: Required value',
    'message: Invalid value: "": can have at most 1024 characters',
    'type: Invalid value: "": has invalid value: Odd',
  ]);
  assert.deepEqual(newErrors(newEvent({ eventTime: null })), ['eventTime: Required value']);
  assert.deepEqual(newErrors(newEvent({ deprecatedCount: 1, series: { count: 1, lastObservedTime: TIME } })), [
    'series.count: Invalid value: "": should be at least 2',
    'count: Invalid value: "": needs to be unset',
  ]);
});

test('core events of the old form only need the namespace of their object', () => {
  assert.deepEqual(coreErrors(coreEvent()), []);
  const mismatch = ['involvedObject.namespace: Invalid value: "m": does not match event.namespace'];
  assert.deepEqual(coreErrors(coreEvent({ involvedObject: { namespace: 'm' } })), mismatch);
  assert.deepEqual(coreErrors(coreEvent({ involvedObject: {} })), [
    'involvedObject.namespace: Invalid value: "": does not match event.namespace',
  ]);
  assert.deepEqual(coreErrors(coreEvent({ metadata: { name: 'e', namespace: 'default' }, involvedObject: {} })), []);
});

test('core events of the new form name their reporter', () => {
  assert.deepEqual(coreErrors(coreEvent({ eventTime: TIME, reason: 'R', action: 'A', reportingInstance: 'i' })), [
    'reportingComponent: Required value',
    'reportingComponent: Invalid value: "": name part must be non-empty',
    "reportingComponent: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', " +
      "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used " +
      "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ]);
});
