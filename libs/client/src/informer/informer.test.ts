import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, PODS, type Pod } from '@holdfast/api';
import {
  type Bus,
  type BusMessage,
  changeSubject,
  channelOf,
  HEARTBEAT_SUBJECT,
  type Heartbeat,
  nodePodsPattern,
  type SharedChange,
} from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import { createSeededRandom, createSilentLog, type Random } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import fc from 'fast-check';
import { createApiClient } from '../api-client.ts';
import { WATCH_DEBT_IDLE_MS } from '../limits.ts';
import { FakeApi, type FakeChange, pathFor } from '../testing/fake-api.ts';
import { createDirectTransport } from '../transport/direct.ts';
import type { ApiResponse } from '../transport/port.ts';
import { createInformer, type InformerOptions } from './informer.ts';

const pod = (name: string, nodeName?: string, label = 'x'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: label } },
  spec: { containers: [], ...(nodeName === undefined ? {} : { nodeName }) },
  status: {},
});

const nodeOf = (object: KubeObject | undefined): string =>
  object === undefined || !('spec' in object) ? '' : ((object as Pod).spec.nodeName ?? '');

/** Publishes every change as the relay does, on a hub that never fails. `lossy` adds losses. */
function publishTo(
  hub: Bus,
  api: FakeApi,
  clock: VirtualClock,
  { hidden, inProcess }: { readonly hidden: boolean; readonly inProcess: boolean },
): { beat(): void; crowded: boolean } {
  const publisher = { beat, crowded: false };
  const tails = new Map<string, number>();
  const movedAt = new Map<string, number>();
  const advance = (subject: string, revision: number): number | undefined => {
    const channel = channelOf(subject);
    const before = tails.get(channel);
    tails.set(channel, revision);
    movedAt.set(channel, clock.monotonic());
    return before;
  };
  const subjectOf = (object: KubeObject): string =>
    changeSubject({
      group: '',
      resource: 'pods',
      namespace: 'default',
      name: object.metadata.name ?? '',
      nodeName: nodeOf(object),
    });
  api.onChange(({ type, revision, object, previous }: FakeChange) => {
    const subject = subjectOf(object);
    const event = { type, revision, key: subject, ...(hidden ? {} : { object }) };
    const left = previous === undefined ? subject : subjectOf(previous);
    const key = `default/${object.metadata.name}`;
    const shared: SharedChange = { type, key, hasObject: !hidden, movedTo: undefined, object: () => object };
    const place = { subject, revision, previous: advance(subject, revision) };
    const gone = { type: 'DELETED', movedTo: subject } as const;
    const departed = left === subject ? undefined : { subject: left, previous: advance(left, revision) };
    const published: BusMessage = {
      ...place,
      ...(inProcess ? { data: UNREADABLE, shared } : { data: JSON.stringify(event) }),
      ...(departed === undefined
        ? {}
        : {
            departure: {
              ...departed,
              data: inProcess ? UNREADABLE : JSON.stringify({ ...event, ...gone }),
              ...(inProcess ? { shared: { ...shared, ...gone } } : {}),
            },
          }),
    };
    void hub.publish([published]);
  });
  function beat(): void {
    const isNamed = (channel: string): boolean =>
      !publisher.crowded && clock.monotonic() - (movedAt.get(channel) ?? 0) <= TAIL_WINDOW_MS;
    const named = Object.fromEntries([...tails].filter(([channel]) => isNamed(channel)));
    const quiet = Math.max(0, ...[...tails].filter(([channel]) => !isNamed(channel)).map(([, revision]) => revision));
    const { crowded } = publisher;
    const heartbeat: Heartbeat = { rev: api.revision, floor: 0, since: 0, tails: named, quiet, crowded };
    const data = JSON.stringify(heartbeat);
    void hub.publish([{ subject: HEARTBEAT_SUBJECT, revision: api.revision, previous: undefined, data }]);
    clock.timer(HEARTBEAT_MS, beat);
  }
  return publisher;
}

/** The text of messages whose `shared` content is set: nothing may parse it. */
const UNREADABLE = 'no text';
const HEARTBEAT_MS = 5_000;
const TAIL_WINDOW_MS = 4 * HEARTBEAT_MS;

interface Weather {
  loss: number;
  doubling: number;
  delayMs: number;
}

function lossy(hub: Bus, clock: VirtualClock, random: Random, weather: Weather): Bus {
  return {
    ...hub,
    publish: (messages) => hub.publish(messages),
    health: () => [],
    close: () => hub.close(),
    subscribe: (patterns, options) =>
      hub.subscribe(patterns, {
        ...options,
        onMessage: (message) => {
          const copies = random.float() < weather.loss ? 0 : 1 + Number(random.float() < weather.doubling);
          for (let copy = 0; copy < copies; copy++) {
            clock.timer(random.float() * weather.delayMs, () => options.onMessage(message));
          }
        },
      }),
  };
}

function rig(seed: number, extra: Partial<InformerOptions<Pod>> = {}, hidden = false) {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const hub = createLocalBus();
  const weather: Weather = { loss: 0, doubling: 0, delayMs: 1 };
  const publisher = publishTo(hub, api, clock, { hidden, inProcess: seed % 2 === 1 });
  const random = createSeededRandom(seed, 'weather');
  const client = createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'test' });
  const bus = lossy(hub, clock, random, weather);
  const log = createSilentLog();
  const informer = createInformer<Pod>({ client, bus, resource: PODS, clock, log, ...extra });
  return { clock, api, hub, weather, publisher, random, informer };
}

const jsonAnswer = (value: unknown): ApiResponse => ({
  status: 200,
  headers: {},
  body: { kind: 'json', value: () => value, bytes: () => Buffer.from(JSON.stringify(value)) },
});

const path = (name: string): string => pathFor(PODS, 'default', name);

const stateOf = (objects: Iterable<KubeObject>): Record<string, string> =>
  Object.fromEntries(
    Array.from(objects, (o) => [o.metadata.name ?? '', o.metadata.resourceVersion ?? '']).sort((a, b) =>
      (a[0] ?? '') < (b[0] ?? '') ? -1 : 1,
    ),
  );

/** Fails when an object's revision does not grow, even across a deletion. */
function watchMonotony(informer: ReturnType<typeof rig>['informer']): string[] {
  const wrong: string[] = [];
  const highest = new Map<string, number>();
  informer.onChange(({ key, object, old }) => {
    const revision = Number(object?.metadata.resourceVersion ?? old?.metadata.resourceVersion ?? 0);
    const floor = highest.get(key) ?? 0;
    if (object !== undefined ? revision <= floor : revision < floor)
      wrong.push(`${key} went from ${floor} to ${revision}`);
    highest.set(key, Math.max(floor, revision));
  });
  return wrong;
}

test('[TEST-10] lists, then follows the bus without a watch', async () => {
  const { clock, api, publisher, informer } = rig(1);
  publisher.beat();
  api.put(path('a'), pod('a'));
  api.bookmarkIntervalMs = 1_000;
  await informer.start();
  await informer.synced();
  await clock.advance(10_000);
  const requestsBefore = api.requests.length;
  api.put(path('b'), pod('b'));
  api.put(path('a'), pod('a', 'n1'));
  await clock.advance(10);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  assert.ok(api.requests.length <= requestsBefore + 1, 'at most one watch to link the first message of a channel');
  api.put(path('b'), pod('b', undefined, 'changed'));
  await clock.advance(10);
  assert.equal(informer.get({ namespace: 'default', name: 'b' }), api.objects().get(path('b')), 'shared, not copied');
  await informer.stop();
});

test('[TEST-10] on a bus that loses nothing it needs no watch, unless the bus cannot go back to the list', async () => {
  for (const [retainedMessages, wanted] of [
    [10, 0],
    [1, 1],
  ] as const) {
    const bus = createLocalBus({ retainedMessages });
    const { clock, api, informer } = rig(1, { bus });
    publishTo(bus, api, clock, { hidden: false, inProcess: true });
    api.put(path('a'), pod('a'));
    const whileListed = (): void => {
      api.put(path('b'), pod('b'));
      api.put(path('a'), pod('a', undefined, 'changed'));
      api.remove(path('b'));
    };
    informer.onChange(({ key, old }) => {
      if (key === 'default/a' && old === undefined) whileListed();
    });
    await informer.start();
    await informer.synced();
    await clock.advance(10);
    assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
    api.put(path('c'), pod('c'));
    await clock.advance(10);
    assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
    const watches = api.requests.filter((r) => r.query.get('watch') === 'true').length;
    assert.equal(Math.min(watches, 1), wanted, `${watches} watches with ${retainedMessages} messages`);
    await informer.stop();
  }
});

test('a burst of changes whose content is not on the bus is fetched by one watch', async () => {
  const { clock, api, publisher, informer } = rig(1, { selection: { labelSelector: 'app=x' } }, true);
  publisher.beat();
  api.bookmarkIntervalMs = 1_000;
  await informer.start();
  await clock.advance(10_000);
  const watches = (): number => api.requests.filter((r) => r.query.get('watch') === 'true').length;
  const before = watches();
  for (let i = 0; i < 100; i++) {
    api.put(path(`p${i % 7}`), pod(`p${i % 7}`));
    await clock.advance(20);
    assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  }
  assert.equal(watches() - before, 1);
  for (let i = 0; i < 10; i++) {
    api.put(path('other'), pod('other', undefined, 'y'));
    await clock.advance(2_000);
  }
  assert.ok(watches() - before <= 12, `${watches() - before} watches: one for each change that nobody selects`);
  await clock.advance(10_000);
  const after = watches();
  await clock.advance(60_000);
  assert.equal(watches(), after, 'nothing comes, nothing is open');
  await informer.stop();
});

test('works without a bus, through broken watches and compacted history', async () => {
  const { clock, api, informer } = rig(1, { bus: undefined });
  await informer.start();
  await clock.advance(10);
  api.put(path('a'), pod('a'));
  await clock.advance(10);
  assert.equal(informer.list().length, 1);
  api.setDown(true);
  await clock.advance(60_000);
  api.put(path('b'), pod('b'));
  api.remove(path('a'));
  api.compact();
  api.setDown(false);
  await clock.advance(60_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  await informer.stop();
});

test('start, synced and stop while the API is away', async () => {
  const { clock, api, informer } = rig(1);
  api.setDown(true);
  await informer.start();
  const synced = informer.synced().catch(() => 'stopped');
  await clock.advance(60_000);
  await informer.stop();
  assert.equal(await synced, 'stopped');
});

test('an informer that a listener stops during the first list opens no watch', async () => {
  const { clock, api, informer } = rig(1, { bus: undefined });
  api.put(path('a'), pod('a'));
  informer.onChange(() => void informer.stop());
  await informer.start();
  await clock.advance(10);
  assert.deepEqual(
    api.requests.map(({ query }) => query.get('watch')),
    [null],
  );
  await informer.stop();
});

test('a list that returns empty pages without end is abandoned and retried after a pause', async () => {
  const clock = createVirtualClock();
  let asked = 0;
  const list = { metadata: { resourceVersion: '1', continue: 'more' }, items: [] };
  const transport = createDirectTransport(async () => {
    asked += 1;
    if (asked > 1_000) throw new Error('without an end');
    return jsonAnswer(list);
  });
  const client = createApiClient({ transport, userAgent: 'test' });
  const informer = createInformer<Pod>({ client, resource: PODS, clock, log: createSilentLog() });
  await informer.start();
  await clock.advance(1_000);
  assert.ok(asked < 20, `asked ${asked} times`);
  await informer.stop();
});

for (const [what, metadata] of [
  ['owners that are no list', { ownerReferences: 'x' }],
  ['an owner that is none', { ownerReferences: [null] }],
  ['an owner without a name', { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', uid: 'u' }] }],
  ['finalizers that are no texts', { finalizers: [{}] }],
  ['a name that is no text', { name: 5 }],
] as const) {
  test(`metadata with ${what} from another server is dropped`, async () => {
    const clock = createVirtualClock();
    const item = { metadata: { name: 'a', namespace: 'default', resourceVersion: '1', ...metadata } };
    const list = { metadata: { resourceVersion: '1' }, items: [item] };
    const transport = createDirectTransport(async () => jsonAnswer(list));
    const client = createApiClient({ transport, userAgent: 'test' });
    const selection = { metadataOnly: true } as const;
    const informer = createInformer<Pod>({ client, resource: PODS, clock, log: createSilentLog(), selection });
    await informer.start();
    await clock.advance(100);
    assert.deepEqual(informer.list(), []);
    await informer.stop();
  });
}

test('metadata alone is followed like whole objects, through bookmarks without a name', async () => {
  const { clock, api, informer } = rig(1, { bus: undefined, selection: { metadataOnly: true } });
  const watches = (): number => api.requests.filter(({ query }) => query.get('watch') === 'true').length;
  api.bookmarkIntervalMs = 1_000;
  await informer.start();
  await clock.advance(10);
  for (const name of ['a', 'b']) api.put(path(name), pod(name));
  await clock.advance(30_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  assert.equal(watches(), 1);
  await informer.stop();
});

test('a copy above its object limit stays unchanged until there are fewer objects', async () => {
  const { clock, api, informer } = rig(1, { bus: undefined, objectsMax: 2 });
  for (const name of ['a', 'b']) api.put(path(name), pod(name));
  await informer.start();
  await clock.advance(10);
  for (const name of ['c', 'd', 'e']) api.put(path(name), pod(name));
  await clock.advance(60_000);
  assert.ok(informer.list().length <= 3);
  for (const name of ['a', 'b', 'c']) api.remove(path(name));
  await clock.advance(60_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  await informer.stop();
});

test('a copy of more characters than it may have stays as it was, until there are fewer', async () => {
  const long = (name: string): KubeObject => ({
    ...pod(name),
    metadata: { ...pod(name).metadata, finalizers: ['x'.repeat(600)] },
  });
  const { clock, api, informer } = rig(1, { bus: undefined, charsMax: 2_000 });
  api.put(path('a'), long('a'));
  await informer.start();
  await clock.advance(10);
  // Each replaces the one before: what a change takes away counts no more.
  for (let i = 0; i < 10; i++) api.put(path('a'), long('a'));
  await clock.advance(1_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  for (const name of ['b', 'c', 'd', 'e']) api.put(path(name), long(name));
  await clock.advance(60_000);
  assert.ok(informer.list().length <= 4, `${informer.list().length} objects`);
  for (const name of ['c', 'd', 'e']) api.remove(path(name));
  await clock.advance(60_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  await informer.stop();
});

test('a half-open watch is noticed and opened again', async () => {
  const { clock, api, informer } = rig(1, { bus: undefined, watchIdleMs: 90_000 });
  await informer.start();
  await clock.advance(10);
  api.bookmarkIntervalMs = 10 * 60_000;
  const watches = (): number => api.requests.filter((r) => r.query.get('watch') === 'true').length;
  await clock.advance(300_000);
  assert.ok(watches() >= 2, `${watches()} watches`);
  await informer.stop();
});

/** `b` was changed and its message lost. The next change opens a watch that delivers nothing. */
async function startHalfOpen(next: (api: FakeApi) => void): Promise<ReturnType<typeof rig>> {
  const all = rig(1);
  const { clock, api, publisher, weather, informer } = all;
  publisher.beat();
  api.put(path('a'), pod('a'));
  api.bookmarkIntervalMs = 1_000;
  await informer.start();
  await clock.advance(11_000);
  weather.loss = 1;
  api.put(path('b'), pod('b'));
  await clock.advance(10);
  weather.loss = 0;
  api.halfOpen = true;
  next(api);
  await clock.advance(1_000);
  api.halfOpen = false;
  return all;
}

test('a watch that delivers nothing of what the bus announced is half-open: it is reopened before the idle timeout', async () => {
  const { clock, api, informer } = await startHalfOpen((server) => server.put(path('c'), pod('c')));
  const watches = (): number => api.requests.filter((r) => r.query.get('watch') === 'true').length;
  const before = watches();
  await clock.advance(WATCH_DEBT_IDLE_MS - 2_000);
  assert.deepEqual([informer.count(), watches()], [2, before], 'a slow server is not asked again and again');
  await clock.advance(2_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  assert.equal(watches(), before + 1);
  await informer.stop();
});

test('a copy with a gap learns the revision of an object from its later changes and its deletion', async () => {
  const { informer } = await startHalfOpen((server) => server.remove(path('b')));
  const at = (name: string, revision: number): boolean => informer.reflects({ namespace: 'default', name }, revision);
  assert.ok(informer.revision() < 2, 'the gap is still there');
  assert.deepEqual([at('a', 1), at('b', 2), at('b', 3), at('b', 4), at('c', 2)], [true, true, true, false, false]);
  await informer.stop();
});

test('an object that leaves the selection is reported as deleted, from the bus and from the API', async () => {
  const { clock, api, publisher, informer } = rig(1, { selection: { labelSelector: 'app=x' } });
  publisher.beat();
  api.bookmarkIntervalMs = 1_000;
  await informer.start();
  await clock.advance(10_000);
  api.put(path('a'), pod('a'));
  await clock.advance(10);
  assert.equal(informer.list().length, 1);
  api.put(path('a'), pod('a', undefined, 'y'));
  await clock.advance(10);
  assert.equal(informer.list().length, 0);
  await informer.stop();
});

test('indexes are updated with the objects', async () => {
  const { clock, api, informer } = rig(1, {
    bus: undefined,
    indexes: { node: (object) => [object.spec.nodeName ?? ''] },
  });
  await informer.start();
  api.put(path('a'), pod('a', 'n1'));
  api.put(path('b'), pod('b', 'n1'));
  await clock.advance(10);
  assert.deepEqual(
    informer.byIndex('node', 'n1').map((o) => o.metadata.name),
    ['a', 'b'],
  );
  api.remove(path('a'));
  await clock.advance(10);
  assert.deepEqual(
    informer.byIndex('node', 'n1').map((o) => o.metadata.name),
    ['b'],
  );
  assert.equal(Object.isFrozen(informer.get({ namespace: 'default', name: 'b' })?.spec), true);
  await informer.stop();
});

test('[TEST-10] a change lost together with every heartbeat that names its channel is found by the next heartbeat', async () => {
  const { clock, api, publisher, weather, informer } = rig(1, { heartbeatTimeoutMs: 10 * TAIL_WINDOW_MS });
  publisher.beat();
  api.put(path('a'), pod('a'));
  api.bookmarkIntervalMs = 1_000;
  await informer.start();
  await clock.advance(11_000);
  weather.loss = 1;
  api.put(path('b'), pod('b'));
  await clock.advance(TAIL_WINDOW_MS + HEARTBEAT_MS);
  assert.equal(informer.list().length, 1);
  weather.loss = 0;
  await clock.advance(2 * HEARTBEAT_MS);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  await informer.stop();
});

test('[TEST-10] a gap that no heartbeat names under load is found by the periodic check', async () => {
  const { clock, api, publisher, weather, informer } = rig(1, { safetyCheckIntervalMs: 300_000 });
  publisher.beat();
  publisher.crowded = true;
  api.bookmarkIntervalMs = 1_000;
  api.put(path('a'), pod('a'));
  await informer.start();
  await clock.advance(11_000);
  weather.loss = 1;
  api.put(path('b'), pod('b'));
  await clock.advance(10);
  weather.loss = 0;
  const requests = api.requests.length;
  await clock.advance(200_000);
  assert.equal(api.requests.length, requests, 'being below what is quiet proves nothing then, and costs nothing');
  await clock.advance(100_000);
  assert.deepEqual(stateOf(informer.list()), stateOf(api.objects().values()));
  await informer.stop();
});

const step = fc.record({
  op: fc.constantFrom('put', 'put', 'put', 'bind', 'remove', 'wait', 'outage', 'compact', 'weather'),
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  node: fc.constantFrom('n1', 'n2'),
  amount: fc.integer({ min: 0, max: 9 }),
});

async function play(
  run: ReturnType<typeof rig>,
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
) {
  const { api, clock, weather } = run;
  for (const { op, name, node, amount } of steps) {
    const stored = api.objects().get(path(name));
    if (op === 'put') api.put(path(name), pod(name, nodeOf(stored) || undefined, `l${amount}`));
    else if (op === 'bind' && stored !== undefined && nodeOf(stored) === '') api.put(path(name), pod(name, node));
    else if (op === 'remove') api.remove(path(name));
    else if (op === 'wait') await clock.advance(amount * 4_000);
    else if (op === 'outage') api.setDown(amount % 2 === 0);
    else if (op === 'compact') api.compact();
    else if (op === 'weather') Object.assign(weather, { loss: amount / 12, doubling: 0.3, delayMs: amount * 700 });
    await clock.advance(amount * 5);
  }
  api.setDown(false);
}

for (const [who, extra, selects] of [
  ['everything', {}, () => true],
  [
    'one node',
    { selection: { fieldSelector: 'spec.nodeName=n1' }, subjects: [nodePodsPattern('n1')] },
    (object: KubeObject) => nodeOf(object) === 'n1',
  ],
] as const) {
  test(`[TEST-10] the copy ends equal to the server and never goes back, whatever the bus and the API do (${who})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(step, { minLength: 5, maxLength: 60 }), async (seed, steps) => {
        const run = rig(seed, extra);
        run.publisher.beat();
        const wrong = watchMonotony(run.informer);
        await run.informer.start();
        await play(run, steps);
        // The loss rate stays high, so the test may rely only on the periodic check.
        await run.clock.advance(12 * 60_000);
        assert.deepEqual(wrong, []);
        assert.deepEqual(stateOf(run.informer.list()), stateOf([...run.api.objects().values()].filter(selects)));
        await run.informer.stop();
      }),
      { numRuns: 150 },
    );
  });
}
