import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event, KubeObject } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { createIds, createSeededRandom, createSilentLog, formatMicroTime, type Log } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createApiClient } from './api-client.ts';
import { createEventRecorder, type EventRecorderOptions } from './event-recorder.ts';
import {
  EVENT_BURST,
  EVENT_LATE_TURN_MS,
  EVENT_PATIENCE_MS,
  EVENT_QUEUE_MAX,
  EVENT_REFILL_MS,
  EVENT_SERIES_END_MS,
  EVENTS_PER_TURN,
} from './limits.ts';
import type { ApiClient } from './port.ts';
import { FakeApi } from './testing/fake-api.ts';
import { createDirectTransport } from './transport/direct.ts';

const pod = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '7' },
});

/** `lateMs`: the delay of every turn. */
function rig(lateMs = 0, extra: Partial<EventRecorderOptions> = {}) {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const client = createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'test' });
  const ids = createIds(createSeededRandom(1, 'ids'));
  const recorder = createEventRecorder({
    client,
    component: 'kubelet',
    host: 'n1',
    clock: lateMs === 0 ? clock : { ...clock, sleep: (delayMs, signal) => clock.sleep(delayMs + lateMs, signal) },
    ids,
    log: createSilentLog(),
    ...extra,
  });
  const events = (): Event[] => Array.from(api.objects().values(), (object) => object as Event);
  return { clock, api, recorder, events };
}

test('equal events are one object that is counted up', async () => {
  const { clock, recorder, events } = rig();
  for (let i = 0; i < 3; i++) {
    recorder.event(pod('a'), { type: 'Warning', reason: 'BackOff', message: 'restarting' });
    await clock.advance(10_000);
  }
  const [event, ...others] = events();
  assert.equal(others.length, 0);
  assert.equal(event?.count, 3);
  assert.equal(event.involvedObject.uid, 'uid-a');
  assert.deepEqual(event.source, { component: 'kubelet', host: 'n1' });
  assert.notEqual(event.firstTimestamp, event.lastTimestamp);
});

test('an event refused in a terminating namespace logs no warning, any other refused event does', async () => {
  for (const [causes, level] of [
    [[{ reason: 'NamespaceTerminating', message: 'it ends' }], 'debug'],
    [[], 'warn'],
  ] as const) {
    const told: string[] = [];
    const silent = createSilentLog();
    const log: Log = { ...silent, debug: () => told.push('debug'), warn: () => told.push('warn'), child: () => log };
    const refused = new StatusError({
      code: 403,
      reason: 'Forbidden',
      message: 'no',
      details: { causes: [...causes] },
    });
    const refuse = (): Promise<never> => Promise.reject(refused);
    const client = { find: refuse, create: refuse, patch: refuse, update: refuse } as unknown as ApiClient;
    const { clock, recorder } = rig(0, { client, log });
    recorder.event(pod('a'), { type: 'Normal', reason: 'R', message: 'x' });
    await clock.advance(EVENT_PATIENCE_MS);
    assert.deepEqual(told, [level]);
  }
});

test('queued equal events are written once and counted afterwards', async () => {
  const { clock, api, recorder, events } = rig();
  let writes = 0;
  api.before = () => void writes++;
  const backOff = { type: 'Warning', reason: 'BackOff', message: 'restarting' } as const;
  for (let i = 0; i < 5; i++) recorder.event(pod('a'), backOff);
  recorder.event(pod('b'), backOff);
  recorder.event(pod('a'), { ...backOff, message: 'stopping' });
  assert.equal(recorder.waiting(), 3);
  await clock.advance(10);
  assert.equal(writes, 3);
  assert.deepEqual(
    events().map(({ count, message, involvedObject }) => [involvedObject.name, message, count]),
    [
      ['a', 'restarting', 5],
      ['b', 'restarting', 1],
      ['a', 'stopping', 1],
    ],
  );
  for (let i = 0; i < 2; i++) recorder.event(pod('a'), backOff);
  await clock.advance(10);
  assert.equal(writes, 4);
  assert.equal(events()[0]?.count, 7);
});

test('events are named by time in the order of creation, also within one millisecond', async () => {
  const { clock, recorder, events } = rig();
  const reasons = Array.from({ length: 10 }, (_, i) => `R${i}`);
  for (const reason of reasons) recorder.event(pod('a'), { type: 'Normal', reason, message: 'x' });
  await clock.advance(10);
  const named = events().toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  assert.deepEqual(
    named.map(({ reason }) => reason),
    reasons,
  );
  assert.ok(named.every(({ metadata }) => /^a\.[0-9a-f]{16}$/.test(metadata.name ?? '')));
});

test('queued events of two kinds with the same object name stay separate', async () => {
  const { clock, recorder, events } = rig();
  for (const kind of ['Pod', 'Service']) {
    recorder.event({ apiVersion: 'v1', kind, metadata: { name: 'a' } }, { type: 'Normal', reason: 'R', message: 'x' });
  }
  await clock.advance(10);
  assert.deepEqual(
    events().map(({ count, involvedObject }) => [involvedObject.kind, count]),
    [
      ['Pod', 1],
      ['Service', 1],
    ],
  );
});

test('[EXP-09] an event names the field path that it is about, and field paths are counted separately', async () => {
  const { clock, recorder, events } = rig();
  const pulled = { type: 'Normal', reason: 'Pulled', message: 'present' } as const;
  for (const name of ['a', 'b', 'b']) {
    recorder.event(pod('p'), { ...pulled, fieldPath: `spec.initContainers{${name}}` });
    await clock.advance(1);
  }
  assert.deepEqual(
    events().map(({ count, involvedObject }) => [involvedObject.fieldPath, count]),
    [
      ['spec.initContainers{a}', 1],
      ['spec.initContainers{b}', 2],
    ],
  );
  // Also those that wait together to be written.
  for (const name of ['c', 'd']) recorder.event(pod('p'), { ...pulled, fieldPath: `spec.initContainers{${name}}` });
  await clock.advance(10);
  assert.equal(events().length, 4);
});

test('an event that was deleted is created again', async () => {
  const { clock, api, recorder, events } = rig();
  recorder.event(pod('a'), { type: 'Normal', reason: 'Started', message: 'x' });
  await clock.advance(1);
  for (const path of api.objects().keys()) api.remove(path);
  recorder.event(pod('a'), { type: 'Normal', reason: 'Started', message: 'x' });
  await clock.advance(1);
  assert.equal(events().length, 1);
});

test('many different messages of one reason are combined', async () => {
  const { clock, recorder, events } = rig();
  for (let i = 0; i < 20; i++) {
    recorder.event(pod('a'), { type: 'Warning', reason: 'Failed', message: `attempt ${i}` });
    await clock.advance(1);
  }
  assert.equal(events().length, 11);
  const combined = events().find((event) => event.message?.startsWith('(combined from similar events)'));
  assert.equal(combined?.count, 10);
});

test('an object that sends too many events is rate-limited, others are not', async () => {
  const { clock, recorder, events } = rig();
  for (let i = 0; i < 100; i++) recorder.event(pod('a'), { type: 'Normal', reason: `R${i}`, message: 'x' });
  recorder.event(pod('b'), { type: 'Normal', reason: 'R', message: 'x' });
  await clock.advance(1);
  assert.equal(events().length, EVENT_BURST + 1);
  assert.equal(recorder.dropped(), 100 - EVENT_BURST);
});

/** Returns how many events each turn writes when turns are this late. */
async function perTurn(lateMs: number): Promise<readonly number[]> {
  const { clock, recorder, events } = rig(lateMs);
  for (let i = 0; i < 20; i++) recorder.event(pod(`p${i}`), { type: 'Normal', reason: 'R', message: 'x' });
  const written: number[] = [];
  const look = (): void => {
    written.push(events().length);
    if (written.length < 20) clock.timer(lateMs, look);
  };
  clock.timer(lateMs, look);
  await clock.advance(1_000);
  assert.equal(events().length, 20);
  return written.map((count, turn) => count - (written[turn - 1] ?? 0));
}

test('one turn writes few events to let other work run, and one event under load', async () => {
  assert.equal(Math.max(...(await perTurn(0))), EVENTS_PER_TURN);
  assert.equal(Math.max(...(await perTurn(EVENT_LATE_TURN_MS + 1))), 1);
});

test('delayed events are written, and so is an event recorded after them', async () => {
  const { clock, api, recorder, events } = rig();
  for (let i = 0; i < 20; i++) recorder.event(pod(`p${i}`), { type: 'Normal', reason: 'R', message: 'x' });
  assert.equal(recorder.waiting(), 20);
  api.setDown(true);
  await clock.advance(EVENT_PATIENCE_MS / 2);
  api.setDown(false);
  await clock.advance(EVENT_PATIENCE_MS);
  assert.equal(events().length + recorder.dropped(), 20);
  assert.equal(recorder.waiting(), 0);
  recorder.event(pod('late'), { type: 'Normal', reason: 'R', message: 'x' });
  await clock.advance(1);
  assert.ok(events().some(({ involvedObject }) => involvedObject.name === 'late'));
});

test('while the API is unavailable the queue is bounded, the caller never waits, and events are written later', async () => {
  const { clock, api, recorder, events } = rig();
  api.setDown(true);
  for (let i = 0; i < EVENT_QUEUE_MAX + 50; i++) {
    recorder.event(pod(`p${i}`), { type: 'Normal', reason: 'R', message: 'x' });
  }
  assert.equal(recorder.dropped(), 50);
  await clock.advance(1_000);
  api.setDown(false);
  await clock.advance(10_000);
  assert.equal(events().length, EVENT_QUEUE_MAX);
  await recorder.stop();
});

const asScheduler = { component: 'default-scheduler', form: 'series' } as const;
const waits = { type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', message: 'no node' } as const;

test('in the form of events.k8s.io an event has one exact time, and a repeated event is a series', async () => {
  const { clock, recorder, events } = rig(0, asScheduler);
  recorder.event(pod('a'), { ...waits, related: pod('b') });
  await clock.advance(1_500);
  const [first] = events();
  assert.ok(first !== undefined);
  const { metadata: _metadata, ...told } = first;
  assert.deepEqual(told, {
    apiVersion: 'v1',
    kind: 'Event',
    involvedObject: {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'a',
      namespace: 'default',
      uid: 'uid-a',
      resourceVersion: '7',
    },
    related: { apiVersion: 'v1', kind: 'Pod', name: 'b', namespace: 'default', uid: 'uid-b', resourceVersion: '7' },
    ...waits,
    source: {},
    reportingComponent: 'default-scheduler',
    reportingInstance: 'default-scheduler-n1',
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: formatMicroTime(clock.now() - 1_500),
  });
  const againMs = clock.now();
  recorder.event(pod('a'), { ...waits, related: pod('b') });
  await clock.advance(10);
  const [series, ...others] = events();
  assert.equal(others.length, 0);
  assert.deepEqual(series?.series, { count: 2, lastObservedTime: formatMicroTime(againMs) });
  assert.equal(series.eventTime, first.eventTime);
  assert.deepEqual([series.count, series.lastTimestamp], [undefined, null]);
});

test('a series ends after some minutes without a repeat; a different event is a new object', async () => {
  const { clock, recorder, events } = rig(0, asScheduler);
  const counts = (): (number | undefined)[] => events().map(({ series }) => series?.count);
  for (let i = 0; i < 3; i++) {
    recorder.event(pod('a'), waits);
    await clock.advance(EVENT_SERIES_END_MS - 1_000);
  }
  assert.deepEqual(counts(), [3]);
  recorder.event(pod('a'), { ...waits, message: 'no node, but for another reason' });
  await clock.advance(2_000);
  assert.deepEqual(counts(), [3, undefined]);
  recorder.event(pod('a'), waits);
  await clock.advance(10);
  assert.deepEqual(counts(), [3, undefined, undefined]);
});

test('queued events of a series are written once with a count, and unwritten ones are counted too', async () => {
  const { clock, recorder, events } = rig(0, asScheduler);
  for (let i = 0; i < 3; i++) recorder.event(pod('a'), waits);
  await clock.advance(1);
  assert.deepEqual(
    events().map(({ series }) => series?.count),
    [3],
  );
  for (let i = 0; i < EVENT_BURST + 10; i++) {
    recorder.event(pod('a'), waits);
    await clock.advance(1);
  }
  assert.ok(recorder.dropped() > 0);
  await clock.advance(EVENT_REFILL_MS);
  recorder.event(pod('a'), waits);
  await clock.advance(1);
  assert.deepEqual(
    events().map(({ series }) => series?.count),
    [3 + EVENT_BURST + 10 + 1],
  );
});
