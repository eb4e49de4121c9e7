import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import type { WatchEvent } from '@holdfast/client';
import { configMapBody, podBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
/** A frame that never comes fails the test. */
const WITHIN = { timeout: 5_000 } as const;
const PODS = '/api/v1/namespaces/default/pods';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const createMap = (name: string, labels: Readonly<Record<string, string>> = {}) =>
  api.call('POST', CONFIG_MAPS, { body: { metadata: { name, labels } } });

const createMaps = async (...names: readonly string[]): Promise<void> => {
  for (const name of names) await createMap(name);
};

const summary = (events: readonly WatchEvent[]): readonly string[] =>
  events.map(({ type, object }) => `${type} ${String(valueAt(object, 'metadata.name'))}`);

test('a list is ordered by namespace and name, and contains its revision', async () => {
  await createMaps('b', 'c', 'a');
  const list = await api.call('GET', CONFIG_MAPS);
  assert.deepEqual(list.names(), ['a', 'b', 'c']);
  assert.equal(list.at('metadata.resourceVersion'), String(await api.store.currentRevision()));
  assert.equal(list.at('items.0.kind'), undefined);
});

test('all pages of a list show one state, whatever changes between them', async () => {
  await createMaps('a', 'b', 'c', 'd', 'e');
  const first = await api.call('GET', `${CONFIG_MAPS}?limit=2`);
  assert.deepEqual([first.names(), first.at('metadata.remainingItemCount')], [['a', 'b'], 3]);
  await api.call('DELETE', `${CONFIG_MAPS}/c`);
  await api.call('PATCH', `${CONFIG_MAPS}/d`, { body: { data: { changed: 'yes' } } });
  await createMaps('bb', 'f');
  const next = `${CONFIG_MAPS}?limit=10&continue=${first.textAt('metadata.continue')}`;
  const second = await api.call('GET', next);
  assert.deepEqual(second.names(), ['c', 'd', 'e']);
  assert.equal(second.at('items.1.data'), undefined);
  assert.equal(second.at('metadata.resourceVersion'), first.at('metadata.resourceVersion'));
});

test('expired pages are refused, with a token that continues with the current state', async () => {
  await createMaps('a', 'b', 'c', 'd');
  const pageAt = (continued: string) => api.call('GET', `${CONFIG_MAPS}?limit=1&continue=${continued}`);
  const first = await api.call('GET', `${CONFIG_MAPS}?limit=1`);
  const token = first.textAt('metadata.continue');
  const { at, ...rest } = JSON.parse(Buffer.from(token, 'base64url').toString());
  const sixMinutesOld = Buffer.from(JSON.stringify({ ...rest, at: at - 6 * 60_000 })).toString('base64url');
  const late = await pageAt(sixMinutesOld);
  assert.deepEqual([late.status, late.at('reason')], [410, 'Expired']);
  assert.match(
    late.textAt('message'),
    /^The provided continue parameter is too old to display a consistent list result\. /,
  );
  await api.call('DELETE', `${CONFIG_MAPS}/b`);
  const second = await pageAt(late.textAt('metadata.continue'));
  assert.deepEqual([second.names(), second.at('metadata.remainingItemCount')], [['c'], 1]);
  assert.notEqual(second.at('metadata.resourceVersion'), first.at('metadata.resourceVersion'));
  const third = await pageAt(second.textAt('metadata.continue'));
  assert.deepEqual(third.names(), ['d']);
  assert.equal(third.at('metadata.resourceVersion'), second.at('metadata.resourceVersion'));
});

const selectors = [
  ['labelSelector=par%3Dodd', ['m1', 'm3']],
  ['labelSelector=n%20in%20(1,2)', ['m1', 'm2']],
  ['labelSelector=n%20notin%20(1,2),par', ['m3']],
  ['labelSelector=!par', ['m0']],
  ['fieldSelector=metadata.name%3Dm2', ['m2']],
  ['fieldSelector=metadata.name!%3Dm2&labelSelector=par', ['m1', 'm3']],
] as const;
for (const [query, names] of selectors) {
  test(`selector ${decodeURIComponent(query)} selects ${names.join(', ')}`, async () => {
    await createMap('m0');
    for (const n of [1, 2, 3]) await createMap(`m${n}`, { n: String(n), par: n % 2 === 0 ? 'even' : 'odd' });
    assert.deepEqual((await api.call('GET', `${CONFIG_MAPS}?${query}`)).names(), names);
  });
}

const refusals = [
  ['limit=2&continue=garbage', 400],
  ['resourceVersion=999999', 504],
  ['resourceVersionMatch=Exact', 422],
  ['resourceVersion=abc', 500],
  ['labelSelector=a%3D%3D%3Db', 400],
  ['fieldSelector=data.i%3D3', 400],
] as const;
for (const [query, status] of refusals) {
  test(`a list with ${decodeURIComponent(query)} is ${status}`, async () => {
    assert.equal((await api.call('GET', `${CONFIG_MAPS}?${query}`)).status, status);
  });
}

test('a watch from 0 starts with the current state, then follows', async () => {
  await createMaps('a', 'b');
  const seen = api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=0`, 4);
  await createMaps('c');
  await api.call('DELETE', `${CONFIG_MAPS}/a`);
  assert.deepEqual(summary(await seen), ['ADDED a', 'ADDED b', 'ADDED c', 'DELETED a']);
});

test('a watch from a revision misses no later change and repeats no earlier one', async () => {
  await createMaps('a');
  const before = await api.call('GET', CONFIG_MAPS);
  await createMaps('b');
  const seen = api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${before.textAt('metadata.resourceVersion')}`, 2);
  await createMaps('c');
  assert.deepEqual(summary(await seen), ['ADDED b', 'ADDED c']);
});

test('a watch with a selector sees objects enter and leave the selection', async () => {
  await createMap('in', { app: 'x' });
  await createMap('out', { app: 'y' });
  const seen = api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=0&labelSelector=app%3Dx`, 4);
  const label = (name: string, app: string) =>
    api.call('PATCH', `${CONFIG_MAPS}/${name}`, { body: { metadata: { labels: { app } } } });
  await label('out', 'x');
  await label('out', 'z');
  await label('in', 'z');
  const events = await seen;
  assert.deepEqual(summary(events), ['ADDED in', 'ADDED out', 'DELETED out', 'DELETED in']);
  assert.equal(valueAt(events[2]?.object, 'metadata.labels.app'), 'x');
  assert.equal(valueAt(events[3]?.object, 'metadata.resourceVersion'), String(await api.store.currentRevision()));
});

test('a kubelet that watches its pods sees a pod when it is bound', async () => {
  await api.call('POST', PODS, { body: podBody('p') });
  await api.call('POST', PODS, { body: podBody('q') });
  const seen = api.watch('/api/v1/pods?watch=1&resourceVersion=0&fieldSelector=spec.nodeName%3Da', 1);
  for (const [name, node] of [
    ['q', 'b'],
    ['p', 'a'],
  ] as const) {
    const target = { kind: 'Node', name: node };
    await api.call('POST', `${PODS}/${name}/binding`, { body: { metadata: { name }, target } });
  }
  assert.deepEqual(summary(await seen), ['ADDED p']);
});

test('initial events end with an annotated bookmark', async () => {
  await createMaps('a');
  const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
  const [first, second] = await api.watch(`${CONFIG_MAPS}?${query}`, 2);
  assert.equal(first?.type, 'ADDED');
  assert.equal(second?.type, 'BOOKMARK');
  const list = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":null}\n';
  assert.deepEqual(valueAt(second?.object, 'metadata.annotations'), {
    'k8s.io/initial-events-end': 'true',
    'kubernetes.io/initial-events-list-blueprint': Buffer.from(list).toString('base64'),
  });
  assert.equal((await api.call('GET', `${CONFIG_MAPS}?watch=1&sendInitialEvents=true`)).status, 422);
});

test('a watch of tables shows tables only: columns in the first, bookmarks as empty rows', async () => {
  await api.call('POST', PODS, { body: podBody('p') });
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
  const tablesOf = async (more: string, count: number): Promise<readonly unknown[]> => {
    const events = await api.watch(`${PODS}?${query}${more}`, count, { headers: { accept } });
    return events.map(({ type, object }) => {
      const at = (path: string): unknown => valueAt(object, path);
      const columns = at('columnDefinitions');
      return [type, at('kind'), Array.isArray(columns), at('rows.0.cells.0'), at('rows.0.object.kind')];
    });
  };
  assert.deepEqual(await tablesOf('', 2), [
    ['ADDED', 'Table', true, 'p', 'PartialObjectMetadata'],
    ['BOOKMARK', 'Table', false, '', 'PartialObjectMetadata'],
  ]);
  assert.deepEqual(await tablesOf('&fieldSelector=metadata.name%3Dnobody', 1), [
    ['BOOKMARK', 'Table', true, '', 'PartialObjectMetadata'],
  ]);
  const [mark] = await api.watch(`${PODS}?${query}&labelSelector=no`, 1, { headers: { accept } });
  const revision = String(await api.store.currentRevision());
  assert.equal(valueAt(mark?.object, 'metadata.resourceVersion'), revision);
  assert.deepEqual(valueAt(mark?.object, 'rows.0.object.metadata'), {
    resourceVersion: revision,
    creationTimestamp: null,
    annotations: { 'k8s.io/initial-events-end': 'true' },
  });
});

test('a watch with bookmarks gets one once it has caught up, after the missed events', WITHIN, async () => {
  await createMaps('a');
  const before = (await api.call('GET', CONFIG_MAPS)).textAt('metadata.resourceVersion');
  await createMaps('b', 'c');
  const now = await api.store.currentRevision();
  await api.call('GET', CONFIG_MAPS);
  const follow = (query: string, count: number) =>
    api.watch(`${CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&${query}`, count);
  for (const [query, types] of [
    [`resourceVersion=${before}`, ['ADDED', 'ADDED', 'BOOKMARK']],
    [`resourceVersion=${now}`, ['BOOKMARK']],
    ['resourceVersion=0', ['ADDED', 'ADDED', 'ADDED', 'BOOKMARK']],
  ] as const) {
    const events = await follow(query, types.length);
    assert.deepEqual(
      events.map(({ type }) => type),
      types,
      query,
    );
    // The server itself may write meanwhile, which moves the bookmark on.
    const bookmark = Number(valueAt(events.at(-1)?.object, 'metadata.resourceVersion'));
    assert.ok(bookmark >= now && bookmark <= (await api.store.currentRevision()), `${bookmark}, then ${now}`);
  }
});

test('a bookmark never moves a client back before the requested revision', WITHIN, async () => {
  await createMaps('a');
  const ahead = (await api.store.currentRevision()) + 2;
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${ahead}`;
  const seen = api.watch(`${CONFIG_MAPS}?${query}`, 2);
  await createMaps('b', 'c', 'd');
  for (const { type, object } of await seen) {
    const revision = Number(valueAt(object, 'metadata.resourceVersion'));
    // The server itself may write meanwhile, so any of the three can be the first behind that revision.
    assert.ok(type === 'BOOKMARK' ? revision >= ahead : revision > ahead, `${type} ${revision}, ahead is ${ahead}`);
  }
});

test('a watch from a future revision is refused like a list of it', async () => {
  const ahead = (await api.store.currentRevision()) + 1_000;
  for (const query of [`watch=1&resourceVersion=${ahead}`, `resourceVersion=${ahead}`]) {
    const answer = await api.call('GET', `${CONFIG_MAPS}?${query}`);
    assert.deepEqual(
      [
        answer.status,
        answer.at('reason'),
        answer.at('details.causes.0.reason'),
        answer.at('details.retryAfterSeconds'),
      ],
      [504, 'Timeout', 'ResourceVersionTooLarge', 1],
    );
  }
});

test('all watchers of an event share its bytes and its value', async () => {
  const seen = await Promise.all(
    [1, 2].map(async () => {
      const { raw } = await api.call('GET', `${CONFIG_MAPS}?watch=1`);
      assert.ok(raw.body.kind === 'watch');
      return raw.body.frames[Symbol.asyncIterator]();
    }),
  );
  await createMaps('shared');
  const [one, two] = await Promise.all(seen.map((frames) => frames.next()));
  assert.ok(one?.done === false && two?.done === false);
  assert.equal(one.value.bytes(), two.value.bytes());
  assert.equal(one.value.value(), two.value.value());
  assert.ok(Object.isFrozen(valueAt(one.value.value(), 'object.metadata')));
});

test('the answer of a write and later reads share the same bytes, encoded once', async () => {
  const bytesOf = async (method: 'POST' | 'PATCH' | 'GET', url: string, body?: unknown) => {
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
    const { raw } = await api.call(method, url, { headers, ...(body === undefined ? {} : { body }) });
    assert.ok(raw.body.kind === 'json');
    return raw.body.bytes();
  };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'once' } };
  const created = await bytesOf('POST', CONFIG_MAPS, object);
  assert.equal(await bytesOf('GET', `${CONFIG_MAPS}/once`), created);
  const changed = await bytesOf('PATCH', `${CONFIG_MAPS}/once`, { data: { a: '1' } });
  assert.notEqual(changed, created);
  assert.equal(await bytesOf('GET', `${CONFIG_MAPS}/once`), changed);
});

test('an aborted watch ends and leaves nothing behind', async () => {
  const abort = new AbortController();
  const { raw } = await api.call('GET', `${CONFIG_MAPS}?watch=1`, { signal: abort.signal });
  assert.ok(raw.body.kind === 'watch');
  const pending = raw.body.frames[Symbol.asyncIterator]().next();
  abort.abort();
  assert.equal((await pending).done, true);
});

test('a read after a write sees the write, for the object and for the list', async () => {
  for (let i = 0; i < 20; i++) {
    await createMaps(`r${i}`);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/r${i}`)).status, 200);
    assert.equal((await api.call('GET', CONFIG_MAPS)).names().length, i + 1);
  }
});

test('tables carry the columns of the kind and metadata of the rows', async () => {
  await createMaps('t');
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
  const table = await api.call('GET', CONFIG_MAPS, { headers });
  assert.equal(table.at('kind'), 'Table');
  assert.deepEqual([table.at('columnDefinitions.0.name'), table.at('columnDefinitions.1.name')], ['Name', 'Data']);
  assert.deepEqual([table.at('rows.0.cells.0'), table.at('rows.0.object.kind')], ['t', 'PartialObjectMetadata']);
});

test('partial metadata contains only metadata', async () => {
  await api.call('POST', CONFIG_MAPS, { body: configMapBody('m', { k: 'v' }) });
  const headers = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
  const one = await api.call('GET', `${CONFIG_MAPS}/m`, { headers });
  assert.deepEqual(
    [one.at('kind'), one.at('metadata.name'), one.at('data')],
    ['PartialObjectMetadata', 'm', undefined],
  );
});
