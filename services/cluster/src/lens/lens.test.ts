import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type ConfigMap } from '@holdfast/api';
import { encodeObject } from '@holdfast/api/protobuf';
import { type ApiClient, createApiClient, TransportError } from '@holdfast/client';
import { createHttpsTransport } from '@holdfast/client/https';
import { StatusError } from '@holdfast/machinery';
import { createSeededRandom, createSystemClock, type Random } from '@holdfast/platform';
import { type Cluster, type LensOptions, startCluster } from '../index.ts';

const namespace = 'default';
const configMap = (name: string, value = ''): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { value },
});

const startVirtual = (): Promise<Cluster> => startCluster({ clock: 'virtual', without: ['scheduler', 'controllers'] });
const operatorOf = (cluster: Cluster): ApiClient =>
  cluster.access({ name: 'operator', groups: ['system:masters'] }).client;
const user = 'operator';

/** Name and value of each object. */
type State = ReadonlyMap<string, string>;
const valueOf = ({ data }: ConfigMap): string => data?.['value'] ?? '';
const nameOf = ({ metadata }: ConfigMap): string => metadata.name ?? '';

async function cachedList(client: ApiClient): Promise<{ readonly revision: number; readonly state: State }> {
  const { items, resourceVersion } = await client.list(CONFIG_MAPS, { namespace, resourceVersion: '0' });
  return { revision: Number(resourceVersion), state: new Map(items.map((each) => [nameOf(each), valueOf(each)])) };
}

interface Heard {
  readonly type: string;
  readonly revision: number;
  readonly name: string;
  readonly value: string;
}

/** A watch in the background. */
function listen(client: ApiClient, resourceVersion: string) {
  const heard: Heard[] = [];
  const ending = new AbortController();
  const ended = (async () => {
    for await (const { type, object } of client.watch(CONFIG_MAPS, {
      namespace,
      resourceVersion,
      signal: ending.signal,
    })) {
      const revision = Number(object.metadata.resourceVersion);
      heard.push({ type, revision, name: nameOf(object), value: valueOf(object) });
    }
  })();
  ended.catch(() => {});
  return { heard, ended, stop: () => ending.abort() };
}

/** Writes at random as administrator, and keeps the state of every revision. */
class Truth {
  readonly states = new Map<number, State>();
  readonly events: Heard[] = [];
  readonly #client: ApiClient;
  readonly #random: Random;
  #state: State = new Map();

  constructor({ client }: Cluster, random: Random) {
    this.#client = client;
    this.#random = random;
  }

  async write(): Promise<void> {
    const name = `object-${this.#random.int(3)}`;
    const value = String(this.states.size);
    const known = await this.#client.find(CONFIG_MAPS, { namespace, name });
    const next = new Map(this.#state);
    if (known === undefined) {
      const { metadata } = await this.#client.create(CONFIG_MAPS, configMap(name, value));
      this.#keep({ type: 'ADDED', revision: Number(metadata.resourceVersion), name, value }, next.set(name, value));
    } else if (this.#random.int(3) === 0) {
      await this.#client.delete(CONFIG_MAPS, { namespace, name });
      const { resourceVersion } = await this.#client.list(CONFIG_MAPS);
      next.delete(name);
      this.#keep({ type: 'DELETED', revision: Number(resourceVersion), name, value: valueOf(known) }, next);
    } else {
      const { metadata } = await this.#client.update(CONFIG_MAPS, { ...known, data: { value } });
      this.#keep({ type: 'MODIFIED', revision: Number(metadata.resourceVersion), name, value }, next.set(name, value));
    }
  }

  get state(): State {
    return this.#state;
  }

  at(revision: number): State {
    const known = [...this.states.keys()].findLast((each) => each <= revision);
    return known === undefined ? new Map() : (this.states.get(known) ?? new Map());
  }

  after(revision: number): readonly Heard[] {
    return this.events.filter((event) => event.revision > revision);
  }

  #keep(event: Heard, state: State): void {
    this.events.push(event);
    this.states.set(event.revision, state);
    this.#state = state;
  }
}

for (const kind of ['stale', 'timeTravel'] as const) {
  test(`${kind}: each list is a state that was, and a watch from it gives every later change in order`, async () => {
    for (const seed of [1, 2, 3, 4]) {
      await using cluster = await startVirtual();
      const random = createSeededRandom(seed, kind);
      const truth = new Truth(cluster, random);
      const operator = operatorOf(cluster);
      using lens = await cluster.lens({ kind, user, isOn: false });
      const begun = await cachedList(cluster.client);
      const watches = [];
      let lists = 0;
      for (let step = 0; step < 60; step += 1) {
        await truth.write();
        if (random.int(10) === 0) lens.off();
        if (random.int(6) === 0) await lens.on();
        if (random.int(4) > 0) continue;
        const { revision, state } = await cachedList(operator);
        lists += 1;
        assert.deepEqual(state, truth.at(revision), `seed ${seed}, step ${step}`);
        watches.push({ revision, ...listen(operator, String(revision)) });
      }
      assert.ok(lists > 0);
      await cluster.settle();
      for (const { revision, heard } of watches) {
        const whole = truth.after(revision);
        assert.deepEqual(heard, whole.slice(0, heard.length), `seed ${seed}, from ${revision}`);
      }
      lens.off();
      await cluster.settle();
      for (const { revision, heard, stop } of watches) {
        assert.deepEqual(heard, truth.after(revision), `seed ${seed}, from ${revision}, after the end`);
        stop();
      }
      assert.ok(begun.revision > 0);
    }
  });
}

test('unobserved: a watch skips states, but what it shows always follows from what it showed before', async () => {
  for (const seed of [1, 2, 3, 4]) {
    await using cluster = await startVirtual();
    const random = createSeededRandom(seed, 'unobserved');
    const truth = new Truth(cluster, random);
    using _lens = await cluster.lens({ kind: 'unobserved', user, every: 3 });
    const { heard, stop } = listen(operatorOf(cluster), (await cachedList(cluster.client)).revision.toString());
    for (let step = 0; step < 80; step += 1) {
      await truth.write();
      if (random.int(20) === 0) await cluster.advance('2s');
    }
    await cluster.advance('2s');
    assert.ok(heard.length < truth.events.length);
    const shown = new Map<string, string>();
    let last = 0;
    for (const { type, name, value, revision } of heard) {
      assert.ok(revision > last, 'revisions grow');
      last = revision;
      assert.equal(type === 'ADDED', !shown.has(name), `${type} ${name}`);
      if (type === 'DELETED') shown.delete(name);
      else shown.set(name, value);
    }
    assert.deepEqual(Object.fromEntries(shown), Object.fromEntries(truth.state), `seed ${seed}`);
    stop();
  }
});

test('a stale client sees the past, everybody else the present; what asks for the newest is answered from the present', async () => {
  await using cluster = await startVirtual();
  const operator = operatorOf(cluster);
  await cluster.client.create(CONFIG_MAPS, configMap('one', 'old'));
  using lens = await cluster.lens({ kind: 'stale', user });
  await cluster.client.update(CONFIG_MAPS, configMap('one', 'new'));
  await cluster.client.create(CONFIG_MAPS, configMap('two'));
  assert.deepEqual((await cachedList(operator)).state, new Map([['one', 'old']]));
  assert.equal((await cachedList(cluster.client)).state.get('one'), 'new');
  assert.equal((await operator.get(CONFIG_MAPS, { namespace, name: 'one' })).data?.['value'], 'new');
  const { heard, stop } = listen(operator, '0');
  await cluster.settle();
  assert.deepEqual(
    heard.map(({ type, name, value }) => `${type} ${name} ${value}`),
    ['ADDED one old'],
  );
  lens.off();
  await cluster.settle();
  assert.deepEqual(
    heard.map(({ type, name }) => `${type} ${name}`),
    ['ADDED one', 'MODIFIED one', 'ADDED two'],
  );
  stop();
});

test('a stale read of one object is its earlier state, and a revision that the view lacks is refused as a slow server does', async () => {
  await using cluster = await startVirtual();
  const { fetch } = cluster.access({ name: user, groups: ['system:masters'] });
  const first = await cluster.client.create(CONFIG_MAPS, configMap('one', 'old'));
  using _lens = await cluster.lens({ kind: 'stale', user });
  const second = await cluster.client.update(CONFIG_MAPS, { ...first, data: { value: 'new' } });
  await cluster.client.create(CONFIG_MAPS, configMap('two'));
  const read = (name: string, revision: string) =>
    fetch(`/api/v1/namespaces/default/configmaps/${name}?resourceVersion=${revision}`);
  const one = (await (await read('one', '0')).json()) as ConfigMap;
  assert.deepEqual([one.kind, one.apiVersion, one.data?.['value']], ['ConfigMap', 'v1', 'old']);
  const two = await read('two', '0');
  assert.deepEqual(
    [two.status, ((await two.json()) as { message: string }).message],
    [404, 'configmaps "two" not found'],
  );
  const later = read('one', second.metadata.resourceVersion ?? '');
  await cluster.advance('3s');
  assert.equal((await later).status, 504);
});

test('a point holds the view right before an event; the view catches up by itself', async () => {
  await using cluster = await startVirtual();
  const operator = operatorOf(cluster);
  const point = { resource: 'configmaps', name: 'one', type: 'MODIFIED', nth: 2 } as const;
  using _lens = await cluster.lens({ kind: 'stale', user, point, forMs: 5_000 });
  const watch = listen(operator, '0');
  await cluster.settle();
  let object = await cluster.client.create(CONFIG_MAPS, configMap('one', '0'));
  for (const value of ['1', '2', '3'])
    object = await cluster.client.update(CONFIG_MAPS, { ...object, data: { value } });
  await cluster.settle();
  assert.deepEqual(
    watch.heard.map(({ value }) => value),
    ['0', '1'],
  );
  await cluster.advance('5s');
  assert.deepEqual(
    watch.heard.map(({ value }) => value),
    ['0', '1', '2', '3'],
  );
  watch.stop();
});

test('crash: the write is applied or not, and its answer is lost on both transports', async () => {
  await using cluster = await startCluster({ https: true, without: ['scheduler', 'controllers'] });
  const inside = operatorOf(cluster);
  const { kubeconfig } = cluster.access({ name: user });
  const fieldOf = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(kubeconfig)?.[1] ?? '';
  const caPem = Buffer.from(fieldOf('certificate-authority-data'), 'base64').toString();
  const transport = createHttpsTransport({ servers: [cluster.url], caPem, clock: createSystemClock() });
  const outside = createApiClient({ transport, token: fieldOf('token'), userAgent: 'operator' });
  for (const [name, client] of [
    ['inside', inside],
    ['outside', outside],
  ] as const) {
    for (const moment of ['before', 'after'] as const) {
      const hits: string[] = [];
      const onHit = ({ verb, name: object }: { verb: string; name: string }): void =>
        void hits.push(`${verb} ${object}`);
      using lens = await cluster.lens({ kind: 'crash', user, moment, skip: 1, times: 1, onHit });
      await client.create(CONFIG_MAPS, configMap(`${name}-${moment}-0`));
      await assert.rejects(client.create(CONFIG_MAPS, configMap(`${name}-${moment}-1`)), TransportError);
      await client.create(CONFIG_MAPS, configMap(`${name}-${moment}-2`));
      assert.deepEqual([hits, lens.hits], [[`create ${name}-${moment}-1`], 1]);
      const found = await cluster.client.find(CONFIG_MAPS, { namespace, name: `${name}-${moment}-1` });
      assert.equal(found !== undefined, moment === 'after');
    }
  }
  await transport.close();
});

const refusedWith = (code: number) => (error: unknown) => error instanceof StatusError && error.code === code;

test('conflict refuses writes that expect a version, throttled and webhookDown refuse each write', async () => {
  await using cluster = await startVirtual();
  const operator = operatorOf(cluster);
  const one = await operator.create(CONFIG_MAPS, configMap('one'));
  const lensed = async (options: LensOptions, act: () => Promise<unknown>, code: number): Promise<void> => {
    using _lens = await cluster.lens(options);
    await assert.rejects(act(), refusedWith(code));
  };
  await lensed({ kind: 'conflict', user }, () => operator.update(CONFIG_MAPS, one), 409);
  await lensed({ kind: 'webhookDown', user }, () => operator.update(CONFIG_MAPS, one), 500);
  await lensed(
    { kind: 'throttled', user, verbs: ['create'] },
    () => operator.create(CONFIG_MAPS, configMap('two')),
    429,
  );
  {
    using lens = await cluster.lens({ kind: 'conflict', user });
    await operator.update(CONFIG_MAPS, configMap('one', 'without a version'));
    assert.equal(lens.hits, 0);
  }
  await operator.create(CONFIG_MAPS, configMap('two'));
});

test('expired ends watches and answers older revisions with 410; a new list and its watch continue', async () => {
  await using cluster = await startVirtual();
  const operator = operatorOf(cluster);
  const { revision } = await cachedList(operator);
  await cluster.client.create(CONFIG_MAPS, configMap('one'));
  using lens = await cluster.lens({ kind: 'expired', user, isOn: false });
  const open = listen(operator, String(revision));
  await cluster.settle();
  await lens.on();
  await open.ended;
  await assert.rejects(listen(operator, String(revision)).ended, refusedWith(410));
  const listed = await cachedList(operator);
  const after = listen(operator, String(listed.revision));
  await cluster.client.create(CONFIG_MAPS, configMap('two'));
  await cluster.settle();
  assert.deepEqual(
    after.heard.map(({ name }) => name),
    ['two'],
  );
  after.stop();
});

test('unreachable cuts requests and open watches, watchClosed ends them in order, latency takes the time of the cluster', async () => {
  await using cluster = await startVirtual();
  const operator = operatorOf(cluster);
  using unreachable = await cluster.lens({ kind: 'unreachable', user, isOn: false });
  using closed = await cluster.lens({ kind: 'watchClosed', user, isOn: false });
  const [first, second] = [listen(operator, '0'), listen(operator, '0')];
  await cluster.settle();
  await unreachable.on();
  await assert.rejects(first.ended, TransportError);
  await assert.rejects(operator.list(CONFIG_MAPS), TransportError);
  unreachable.off();
  await second.ended.catch(() => {});
  const third = listen(operator, '0');
  await cluster.settle();
  await closed.on();
  await third.ended;
  using _latency = await cluster.lens({ kind: 'latency', user, ms: 60_000 });
  let isDone = false;
  const asked = operator.list(CONFIG_MAPS).then(() => (isDone = true));
  await cluster.advance('59s');
  assert.equal(isDone, false);
  await cluster.advance('1s');
  await asked;
});

test('a lens takes hold of the watches of its client that are open already, and of no others', async () => {
  await using cluster = await startVirtual();
  const operator = operatorOf(cluster);
  const [open, ofAdmin] = [listen(operator, '0'), listen(cluster.client, '0')];
  await cluster.settle();
  const heard = ({ heard: all }: typeof open): readonly string[] =>
    all.filter(({ name }) => name === 'one').map(({ value }) => value);
  const write = async (value: string): Promise<void> => {
    await cluster.client.update(CONFIG_MAPS, configMap('one', value));
    await cluster.settle();
  };
  await cluster.client.create(CONFIG_MAPS, configMap('one', '0'));
  using stale = await cluster.lens({ kind: 'stale', user });
  await write('1');
  assert.deepEqual(heard(open), ['0']);
  stale.off();
  await cluster.settle();
  assert.deepEqual(heard(open), ['0', '1']);
  using unobserved = await cluster.lens({ kind: 'unobserved', user, every: 2 });
  await write('2');
  await write('3');
  assert.deepEqual(heard(open), ['0', '1', '3']);
  unobserved.off();
  assert.deepEqual(heard(ofAdmin), ['0', '1', '2', '3']);
  using _unreachable = await cluster.lens({ kind: 'unreachable', user });
  await assert.rejects(open.ended, TransportError);
  await write('4');
  assert.deepEqual(heard(ofAdmin), ['0', '1', '2', '3', '4']);
  ofAdmin.stop();
});

for (const kind of ['watchClosed', 'expired'] as const) {
  test(`${kind} ends a watch that was open before the lens`, async () => {
    await using cluster = await startVirtual();
    const open = listen(operatorOf(cluster), '0');
    await cluster.settle();
    using _lens = await cluster.lens({ kind, user });
    await open.ended;
  });
}

test('a watch in another form than JSON ends when a lens comes, and its client gets the next one through the lens', async () => {
  await using cluster = await startVirtual();
  const { fetch } = cluster.access({ name: user, groups: ['system:masters'] });
  const accept = 'application/vnd.kubernetes.protobuf, application/json';
  const answer = await fetch('/api/v1/namespaces/default/configmaps?watch=true', { headers: { accept } });
  const whole = answer.arrayBuffer();
  using _lens = await cluster.lens({ kind: 'stale', user });
  await whole;
});

test('a lens knows names and versions in protobuf, too', async () => {
  await using cluster = await startVirtual();
  const { fetch } = cluster.access({ name: user, groups: ['system:masters'] });
  const path = '/api/v1/namespaces/default/configmaps';
  const write = async (method: string, at: string, metadata: object): Promise<number> => {
    const body = encodeObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    return (await fetch(at, { method, headers, body: new Uint8Array(body ?? []) })).status;
  };
  using _throttled = await cluster.lens({ kind: 'throttled', user, verbs: ['create'], name: 'two' });
  assert.deepEqual(
    [await write('POST', path, { name: 'one' }), await write('POST', path, { name: 'two' })],
    [201, 429],
  );
  using _conflict = await cluster.lens({ kind: 'conflict', user });
  const present = (await (await cluster.fetch(`${path}/one`)).json()) as { readonly metadata: object };
  assert.equal(await write('PUT', `${path}/one`, present.metadata), 409);
  assert.equal(await write('PUT', `${path}/one`, { name: 'one' }), 200);
});

test('a lens is bound by user agent, and its random choices follow its seed', async () => {
  await using cluster = await startVirtual();
  const pattern = async (userAgent: string, seed: number): Promise<string> => {
    using _lens = await cluster.lens({ kind: 'throttled', userAgent: 'tool/', probability: 0.5, seed });
    const statuses = [];
    for (let i = 0; i < 20; i += 1) {
      statuses.push((await cluster.fetch('/api/v1/configmaps', { headers: { 'user-agent': userAgent } })).status);
    }
    return statuses.join(' ');
  };
  assert.match(await pattern('other/1', 1), /^(200 ?)+$/);
  const first = await pattern('tool/1', 1);
  assert.match(first, /429.*200|200.*429/);
  assert.equal(await pattern('tool/2', 1), first);
  assert.notEqual(await pattern('tool/1', 2), first);
});

test('wrong lenses are refused in one sentence with the next step', async () => {
  await using cluster = await startVirtual();
  const refused = (options: object, message: RegExp) =>
    assert.rejects(cluster.lens(options as LensOptions), { name: 'OperatorError', code: 'ClusterOption', message });
  await refused({ kind: 'slow', user }, /there is no lens "slow"/);
  await refused({ kind: 'toString', user }, /there is no lens/);
  await refused({ kind: 'stale' }, /needs a client/);
  await refused({ kind: 'stale', user, moment: 'before' }, /no setting "moment"/);
  await refused({ kind: 'crash', user, moment: 'later' }, /moment has to be "before" or "after"/);
  await refused({ kind: 'stale', user, point: { name: 'x' } }, /point.resource is missing/);
  await refused({ kind: 'stale', user, verbs: 'list' }, /verbs has to be a list/);
  await refused({ kind: 'crash', user, times: 0 }, /times has to be a whole number of at least 1/);
});
