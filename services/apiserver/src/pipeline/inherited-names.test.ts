import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import fc from 'fast-check';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

/** Keys that every object of JavaScript has. Those that are valid labels, and those that are valid keys of a ConfigMap. */
const LABELS = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf', 'a'];
const KEYS = [...LABELS, '__proto__', '__defineGetter__', '__lookupSetter__'];

const NAMESPACE = '/api/v1/namespaces/default';
type Texts = Readonly<Record<string, string>>;

let api: TestApi;
before(async () => {
  api = await startTestApi({ store: createMemoryStore() });
});
after(() => api.stop());

const dictionary = (keys: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...keys), fc.constantFrom('x', 'y'), { noNullPrototype: false });

interface Maps {
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly data: Texts;
}
const maps = fc.record({ labels: dictionary(LABELS), annotations: dictionary(LABELS), data: dictionary(KEYS) });

const entriesOf = (map: unknown): ReadonlyMap<string, unknown> => new Map(Object.entries(Object(map ?? {})));
const bodyOf = (name: string, { labels, annotations, data }: Maps): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels, annotations },
  data,
});

async function assertStored(name: string, wanted: Maps): Promise<void> {
  const read = await api.call('GET', `${NAMESPACE}/configmaps/${name}`);
  for (const [path, map] of [
    ['metadata.labels', wanted.labels],
    ['metadata.annotations', wanted.annotations],
    ['data', wanted.data],
  ] as const) {
    assert.deepEqual(entriesOf(read.at(path)), entriesOf(map), `${path}: ${JSON.stringify(read.body)}`);
  }
}

let count = 0;
const nextName = (): string => `m${count++}`;

/** The merge patch between two maps: `null` removes a key. */
const changes = (before: Texts, after: Texts): Readonly<Record<string, string | null>> =>
  Object.fromEntries([
    ...Object.keys(before).map((key): [string, null] => [key, null]),
    ...Object.entries(after).map(([key, value]): [string, string] => [key, value]),
  ]);

for (const type of ['application/merge-patch+json', 'application/strategic-merge-patch+json']) {
  test(`keys with names of Object.prototype members are plain data for ${type}`, async () => {
    const run = async (before: Maps, wanted: Maps): Promise<void> => {
      const name = nextName();
      assert.equal((await api.call('POST', `${NAMESPACE}/configmaps`, { body: bodyOf(name, before) })).status, 201);
      await assertStored(name, before);
      const body = {
        metadata: {
          labels: changes(before.labels, wanted.labels),
          annotations: changes(before.annotations, wanted.annotations),
        },
        data: changes(before.data, wanted.data),
      };
      const headers = { 'content-type': type };
      const patched = await api.call('PATCH', `${NAMESPACE}/configmaps/${name}`, { headers, body });
      assert.equal(patched.status, 200, patched.textAt('message'));
      await assertStored(name, wanted);
    };
    await fc.assert(fc.asyncProperty(maps, maps, run), { numRuns: 60 });
  });
}

test('keys with names of Object.prototype members are plain data for JSON patch and for updates', async () => {
  const run = async (before: Maps, wanted: Maps): Promise<void> => {
    const name = nextName();
    const url = `${NAMESPACE}/configmaps/${name}`;
    await api.call('POST', `${NAMESPACE}/configmaps`, {
      body: bodyOf(name, { ...before, data: { ...before.data, z: '' } }),
    });
    const operations = [
      ...Object.keys(before.data).map((key) => ({ op: 'remove', path: `/data/${key}` })),
      ...Object.entries(wanted.data).map(([key, value]) => ({ op: 'add', path: `/data/${key}`, value })),
      { op: 'remove', path: '/data/z' },
    ];
    const headers = { 'content-type': 'application/json-patch+json' };
    const patched = await api.call('PATCH', url, { headers, body: operations });
    assert.equal(patched.status, 200, patched.textAt('message'));
    await assertStored(name, { ...before, data: wanted.data });
    assert.equal((await api.call('PUT', url, { body: bodyOf(name, wanted) })).status, 200);
    await assertStored(name, wanted);
  };
  await fc.assert(fc.asyncProperty(maps, maps, run), { numRuns: 60 });
});

test('keys with names of Object.prototype members are plain data for server-side apply', async () => {
  const run = async (before: Maps, wanted: Maps): Promise<void> => {
    const name = nextName();
    const url = `${NAMESPACE}/configmaps/${name}?fieldManager=m`;
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    for (const maps of [before, wanted]) {
      const applied = await api.call('PATCH', url, { headers, body: JSON.stringify(bodyOf(name, maps)) });
      assert.ok(applied.status < 300, applied.textAt('message'));
      await assertStored(name, maps);
    }
  };
  await fc.assert(fc.asyncProperty(maps, maps, run), { numRuns: 60 });
});

test('selectors match labels named like Object.prototype members only where they are set', async () => {
  const labelled = nextName();
  await api.call('POST', `${NAMESPACE}/secrets`, {
    body: { metadata: { name: labelled, labels: { constructor: 'x' } } },
  });
  await api.call('POST', `${NAMESPACE}/secrets`, { body: { metadata: { name: nextName() } } });
  for (const selector of ['constructor', 'constructor=x', 'constructor in (x)', '!toString,constructor'])
    assert.deepEqual(
      (await api.call('GET', `${NAMESPACE}/secrets?labelSelector=${encodeURIComponent(selector)}`)).names(),
      [labelled],
    );
  assert.equal((await api.call('GET', `${NAMESPACE}/secrets?fieldSelector=constructor%3Dx`)).status, 400);
});

test('pods keep variables, node selectors and containers named like Object.prototype members', async () => {
  const name = 'inherits';
  const env = KEYS.map((key) => ({ name: key, value: `$(${key})` }));
  const nodeSelector = Object.fromEntries(LABELS.map((key) => [key, 'x']));
  const containers = [{ name: 'constructor', image: 'i', env }];
  const created = await api.call('POST', `${NAMESPACE}/pods`, {
    body: { metadata: { name, labels: nodeSelector }, spec: { nodeSelector, containers } },
  });
  assert.equal(created.status, 201, created.textAt('message'));
  assert.deepEqual(created.at('spec.containers.0.env'), env);
  assert.deepEqual(entriesOf(created.at('spec.nodeSelector')), entriesOf(nodeSelector));
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  const body = { spec: { containers: [{ name: 'constructor', image: 'j' }] } };
  const patched = await api.call('PATCH', `${NAMESPACE}/pods/${name}`, { headers, body });
  assert.equal(patched.at('spec.containers.0.image'), 'j', patched.textAt('message'));
  assert.deepEqual(patched.at('spec.containers.0.env'), env);
});
