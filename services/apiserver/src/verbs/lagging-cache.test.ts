import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { type Store, writingBy } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { configMapBody, podBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const ONE = `${CONFIG_MAPS}/one`;
const JSON_PATCH = { 'content-type': 'application/json-patch+json' };

interface World {
  /** Its cache shows the first state of ConfigMap `one`: it hears of no change after it. */
  readonly lagging: TestApi;
  readonly other: TestApi;
  readonly old: KubeObject;
  /** Reads of single objects by the server that lags. */
  readonly reads: () => number;
}

/** A view of the store whose feed ends after this many changes, without an end. */
function deaf(store: Store): { store: Store; stop: () => void; reads: () => number } {
  let isDeaf = false;
  let reads = 0;
  const get: Store['get'] = (key) => {
    reads += 1;
    return store.get(key);
  };
  const changes: Store['changes'] = async function* (options) {
    for await (const told of store.changes(options)) {
      if (!isDeaf) yield told;
    }
  };
  const view = { ...writingBy(store, (operations, options) => store.write(operations, options)), get, changes };
  return {
    store: view,
    stop: () => {
      isDeaf = true;
      reads = 0;
    },
    reads: () => reads,
  };
}

/** `prepare` runs before the one server hears nothing more. */
async function twoServers(t: TestContext, prepare?: (api: TestApi) => Promise<unknown>): Promise<World> {
  const store = createMemoryStore();
  const hearing = deaf(store);
  const lagging = await startTestApi({ store: hearing.store });
  t.after(() => lagging.stop());
  const other = await startTestApi({ store });
  t.after(() => other.stop());
  const created = await lagging.call('POST', CONFIG_MAPS, { body: configMapBody('one', { a: 'old' }) });
  assert.equal(created.status, 201);
  await prepare?.(lagging);
  // A read without a revision waits until the cache is as new as the store.
  assert.equal((await lagging.call('GET', ONE)).status, 200);
  hearing.stop();
  return { lagging, other, old: created.body as KubeObject, reads: hearing.reads };
}

const revisionOf = (object: unknown): string => String(valueAt(object, 'metadata.resourceVersion'));

async function change(other: TestApi, data: Readonly<Record<string, string>>): Promise<KubeObject> {
  const changed = await other.call('PATCH', ONE, { body: { data } });
  assert.equal(changed.status, 200);
  return changed.body as KubeObject;
}

test('a change and a deletion of what the cache shows as it is read nothing from the store', async (t) => {
  const { lagging, reads } = await twoServers(t);
  assert.equal((await lagging.call('PATCH', ONE, { body: { data: { b: 'new' } } })).at('data.b'), 'new');
  assert.equal(reads(), 0);
  const { lagging: another, reads: others } = await twoServers(t);
  assert.equal((await another.call('DELETE', ONE)).status, 200);
  assert.equal(others(), 0);
});

test('a patch through a server that lags keeps what others wrote', async (t) => {
  const { lagging, other } = await twoServers(t);
  await change(other, { b: 'theirs' });
  const patched = await lagging.call('PATCH', ONE, { body: { data: { c: 'ours' } } });
  assert.deepEqual(patched.at('data'), { a: 'old', b: 'theirs', c: 'ours' });
});

test('a patch that changes nothing of an old state changes the newest', async (t) => {
  const { lagging, other } = await twoServers(t);
  await change(other, { a: 'theirs' });
  const patched = await lagging.call('PATCH', ONE, { body: { data: { a: 'old' } } });
  assert.equal(patched.status, 200);
  assert.equal((await other.call('GET', ONE)).at('data.a'), 'old');
});

test('a patch that changes nothing of the newest state answers with it', async (t) => {
  const { lagging, other } = await twoServers(t);
  const newest = await change(other, { a: 'theirs' });
  const patched = await lagging.call('PATCH', ONE, { body: { data: { a: 'theirs' } } });
  assert.equal(patched.at('metadata.resourceVersion'), revisionOf(newest));
});

test('a dry run is one of the newest state', async (t) => {
  const { lagging, other } = await twoServers(t);
  await change(other, { a: 'theirs' });
  const patched = await lagging.call('PATCH', `${ONE}?dryRun=All`, { body: { data: { b: 'ours' } } });
  assert.deepEqual(patched.at('data'), { a: 'theirs', b: 'ours' });
  await other.call('DELETE', ONE);
  assert.equal((await lagging.call('DELETE', `${ONE}?dryRun=All`)).status, 404);
});

test('a JSON patch tests the newest state', async (t) => {
  const { lagging, other } = await twoServers(t);
  await change(other, { a: 'theirs' });
  const testing = (value: string) => [
    { op: 'test', path: '/data/a', value },
    { op: 'add', path: '/data/b', value: 'tested' },
  ];
  const old = await lagging.call('PATCH', ONE, { headers: JSON_PATCH, body: testing('old') });
  assert.equal(old.status, 422);
  const newest = await lagging.call('PATCH', ONE, { headers: JSON_PATCH, body: testing('theirs') });
  assert.equal(newest.at('data.b'), 'tested');
});

test('an update names the newest state, whatever the cache shows', async (t) => {
  const { lagging, other, old } = await twoServers(t);
  const newest = await change(other, { a: 'theirs' });
  const late = await lagging.call('PUT', ONE, { body: old });
  assert.deepEqual([late.status, late.at('reason')], [409, 'Conflict']);
  const updated = await lagging.call('PUT', ONE, { body: { ...newest, data: { a: 'ours' } } });
  assert.deepEqual([updated.status, updated.at('data.a')], [200, 'ours']);
});

test('a deletion through a server that lags keeps to its preconditions', async (t) => {
  const { lagging, other, old } = await twoServers(t);
  const newest = await change(other, { a: 'theirs' });
  const options = (object: unknown) => ({ body: { preconditions: { resourceVersion: revisionOf(object) } } });
  assert.equal((await lagging.call('DELETE', ONE, options(old))).status, 409);
  assert.equal((await lagging.call('DELETE', ONE, options(newest))).status, 200);
  assert.equal((await other.call('GET', ONE)).status, 404);
});

test('a deletion through a server that lags leaves what finalizers hold since', async (t) => {
  const { lagging, other } = await twoServers(t);
  await other.call('PATCH', ONE, { body: { metadata: { finalizers: ['example.com/hold'] } } });
  const deleted = await lagging.call('DELETE', ONE);
  assert.notEqual(deleted.at('metadata.deletionTimestamp'), undefined);
  assert.equal((await other.call('GET', ONE)).status, 200);
});

test('what is gone is not found, and what took its name is another', async (t) => {
  const { lagging, other, old } = await twoServers(t);
  assert.equal((await other.call('DELETE', ONE)).status, 200);
  assert.equal((await lagging.call('PUT', ONE, { body: configMapBody('one') })).status, 404);
  assert.equal((await lagging.call('PATCH', ONE, { body: { data: { a: 'b' } } })).status, 404);
  assert.equal((await lagging.call('DELETE', ONE)).status, 404);
  const next = await other.call('POST', CONFIG_MAPS, { body: configMapBody('one', { a: 'next' }) });
  const byUid = { body: { preconditions: { uid: String(valueAt(old, 'metadata.uid')) } } };
  assert.equal((await lagging.call('DELETE', ONE, byUid)).status, 409);
  const patched = await lagging.call('PATCH', ONE, { body: { data: { b: 'c' } } });
  assert.equal(patched.at('metadata.uid'), next.at('metadata.uid'));
});

test('an apply creates what is gone', async (t) => {
  const { lagging, other } = await twoServers(t);
  await other.call('DELETE', ONE);
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const applied = await lagging.call('PATCH', `${ONE}?fieldManager=me`, { headers, body: configMapBody('one') });
  assert.equal(applied.status, 201);
});

const PODS = '/api/v1/namespaces/default/pods';
const bindingTo = (name: string) => ({
  body: { metadata: { name: 'p' }, target: { apiVersion: 'v1', kind: 'Node', name } },
});

test('a pod that was bound through another server is not bound again', async (t) => {
  const { lagging, other } = await twoServers(t, (api) => api.call('POST', PODS, { body: podBody('p') }));
  const binding = `${PODS}/p/binding`;
  assert.equal((await other.call('POST', binding, bindingTo('a'))).status, 201);
  assert.equal((await lagging.call('POST', binding, bindingTo('b'))).status, 409);
  assert.equal((await other.call('GET', `${PODS}/p`)).at('spec.nodeName'), 'a');
});

test('a pod that is gone is not found, without a warning of what a forced deletion does', async (t) => {
  const bound = podBody('p', { spec: { nodeName: 'a' } });
  const { lagging, other } = await twoServers(t, (api) => api.call('POST', PODS, { body: bound }));
  const forced = `${PODS}/p?gracePeriodSeconds=0`;
  const removed = await other.call('DELETE', forced);
  assert.deepEqual([removed.status, typeof removed.headers['warning']], [200, 'string']);
  const late = await lagging.call('DELETE', forced);
  assert.deepEqual([late.status, late.headers['warning']], [404, undefined]);
});

test('a change that another server has made already is not charged to the quota again', async (t) => {
  const SERVICES = '/api/v1/namespaces/default/services';
  const QUOTAS = '/api/v1/namespaces/default/resourcequotas';
  const hard = { 'services.nodeports': '1' };
  const { lagging, other } = await twoServers(t, async (api) => {
    const quota = await api.call('POST', QUOTAS, { body: { metadata: { name: 'q' }, spec: { hard } } });
    const status = { hard, used: { 'services.nodeports': '0' } };
    const known = await api.call('PUT', `${QUOTAS}/q/status`, { body: { ...(quota.body as object), status } });
    assert.equal(known.status, 200);
    const spec = { selector: { app: 'a' }, ports: [{ port: 80 }] };
    const service = await api.call('POST', SERVICES, { body: { metadata: { name: 's' }, spec } });
    assert.equal(service.status, 201);
  });
  const opening = { body: { spec: { type: 'NodePort' } } };
  const opened = await other.call('PATCH', `${SERVICES}/s`, opening);
  assert.equal(opened.status, 200);
  assert.deepEqual((await other.call('GET', `${QUOTAS}/q`)).at('status.used'), { 'services.nodeports': '1' });
  const again = await lagging.call('PATCH', `${SERVICES}/s`, opening);
  assert.deepEqual([again.status, again.at('spec.ports')], [200, opened.at('spec.ports')]);
});
