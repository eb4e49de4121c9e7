import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createSealedStore, type Sealer, Unreadable } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { HISTORY_READS_OF_USER_MAX, HISTORY_SEGMENT_CHARS } from '../limits.ts';
import { configMapBody } from '../testing/fixture.ts';
import { History } from './history.ts';
import { createMemorySegments, type SegmentStore } from './segment-store.ts';
import { HISTORY, SEGMENT_MS, startHistoryApi, until, writeSegments } from './testing.ts';

const FOLDER = '/api/v1/namespaces/default/configmaps';
const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';

test('history: a right to what a selector names is none to the changes of everything', async () => {
  const api = await startHistoryApi();
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['list'] }];
  await api.call('POST', `${ROLES}/roles`, { body: { apiVersion, kind: 'Role', metadata: { name: 'r' }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
  const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
  const binding = { apiVersion, kind: 'RoleBinding', metadata: { name: 'r' }, roleRef, subjects };
  await api.call('POST', `${ROLES}/rolebindings`, { body: binding });
  for (const name of ['mine', 'other']) await api.call('POST', FOLDER, { body: configMapBody(name, { v: '1' }) });
  const selected = `${FOLDER}?fieldSelector=metadata.name%3Dmine`;
  const objects = await api.call('GET', `${HISTORY}/objects${selected}`, { as: 'nobody' });
  assert.deepEqual([objects.status, objects.names()], [200, ['mine']]);
  assert.equal((await api.call('GET', `${HISTORY}/changes${selected}`, { as: 'nobody' })).status, 400);
  assert.equal((await api.call('GET', `${HISTORY}/changes${FOLDER}?labelSelector=a`)).status, 400);
  assert.equal((await api.call('GET', `${HISTORY}/changes${FOLDER}`, { as: 'nobody' })).status, 403);
  await api.stop();
});

test('history: a node reads none of it, least of all the pods of others that are gone', async () => {
  const api = await startHistoryApi();
  const pods = '/api/v1/namespaces/default/pods';
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'gone' },
    spec: { nodeName: 'b', containers: [{ name: 'c', image: 'i', env: [{ name: 'WORD', value: 'confidential' }] }] },
  };
  const created = await api.call('POST', pods, { body });
  assert.equal(created.status, 201);
  await api.call('DELETE', `${pods}/gone?gracePeriodSeconds=0`);
  const revision = created.textAt('metadata.resourceVersion');
  for (const url of [
    `/objects${pods}/gone?revision=${revision}`,
    `/changes${pods}/gone`,
    '/changes/api/v1/pods?fieldSelector=spec.nodeName%3Da',
    '/objects/api/v1/pods?fieldSelector=spec.nodeName%3Da',
    '/changes',
  ]) {
    const { status } = await api.call('GET', HISTORY + url, { as: 'node-a' });
    assert.equal(status, 403, url);
  }
  await api.stop();
});

/** Segments that count how often, and how often at once, they are read. */
function countedSegments() {
  const memory = createMemorySegments();
  const counts = { reads: 0, atOnce: 0, most: 0 };
  const segments: SegmentStore = {
    ...memory,
    read: async (name, at, length) => {
      counts.reads++;
      counts.most = Math.max(counts.most, ++counts.atOnce);
      await nextTurn();
      counts.atOnce--;
      return memory.read(name, at, length);
    },
  };
  return { counts, segments };
}

async function startWithSegments() {
  const { counts, segments } = countedSegments();
  const api = await startHistoryApi({ segments });
  await writeSegments(api, 5);
  await until(async () => (await segments.list()).length > 1);
  return { api, counts };
}

test('history: reads of one user wait for each other, too many are sent away, and others go on', async () => {
  const { api, counts } = await startWithSegments();
  const asks = Array.from({ length: HISTORY_READS_OF_USER_MAX + 3 }, () => api.call('GET', `${HISTORY}/changes`));
  const statuses = (await Promise.all(asks)).map(({ status }) => status);
  const countOf = (wanted: number): number => statuses.filter((status) => status === wanted).length;
  assert.deepEqual([countOf(200), countOf(429)], [HISTORY_READS_OF_USER_MAX, 3]);
  assert.equal(counts.most, 1);
  assert.equal((await api.call('GET', `${HISTORY}/changes`)).status, 200, 'those that ended count no more');
  await api.stop();
});

test('history: nothing is read for a client that is gone', async () => {
  const { api, counts } = await startWithSegments();
  const { status } = await api.call('GET', `${HISTORY}/changes`, { signal: AbortSignal.abort() });
  assert.deepEqual([status, counts.reads], [503, 0]);
  await api.stop();
});

test('history: pages that end between refused writes and the next change repeat none of them', async () => {
  const api = await startHistoryApi();
  const from = (await api.call('GET', HISTORY)).textAt('newest.revision');
  for (const name of ['a', 'b', 'c']) {
    for (let time = 0; time < 3; time++) await api.call('POST', FOLDER, { body: configMapBody(name) });
  }
  const list = async (query: string) => api.call('GET', `${HISTORY}/changes${FOLDER}?diff=false${query}`);
  const whole = (await list(`&from=${from}`)).at('items') as readonly unknown[];
  assert.equal(whole.length, 9);
  for (const limit of [1, 2, 4]) {
    const paged: unknown[] = [];
    for (let token = `&from=${from}`; token !== ''; ) {
      const page = await list(`&limit=${limit}${token}`);
      paged.push(...(page.at('items') as readonly unknown[]));
      assert.ok(paged.length <= whole.length, 'an endless list');
      const next = page.textAt('metadata.continue');
      token = next === '' ? '' : `&continue=${next}`;
    }
    assert.deepEqual(paged, whole, `pages of ${limit}`);
  }
  await api.stop();
});

test('history: what was encrypted then is left out also when it no longer is', async () => {
  let isCovered = true;
  const sealer: Sealer = {
    covers: (key) => isCovered && key.startsWith('core/configmaps/'),
    seal: (_key, value) => value,
    open: (_key, stored) => ({ value: stored, isStale: false }),
  };
  const api = await startHistoryApi({ store: createSealedStore(createMemoryStore(), sealer) });
  const created = await api.call('POST', FOLDER, { body: configMapBody('a', { v: '1' }) });
  await api.call('PATCH', `${FOLDER}/a`, { body: { data: { v: '2' } } });
  isCovered = false;
  const revision = created.textAt('metadata.resourceVersion');
  const past = await api.call('GET', `${HISTORY}/objects${FOLDER}/a?revision=${revision}`);
  assert.deepEqual([past.status, past.at('data'), past.textAt('metadata.name')], [200, undefined, 'a']);
  await api.stop();
});

test('history: what a read of the present refuses, because of a halt or an object that cannot be decrypted, is refused', async () => {
  const sealer: Sealer = {
    covers: (key) => key.startsWith('core/configmaps/'),
    seal: (_key, value) => value,
    open: (_key, stored) => ({ value: stored, isStale: false }),
  };
  const sealed = createSealedStore(createMemoryStore(), sealer);
  const { atRest } = sealed;
  assert.ok(atRest !== undefined);
  const lost = new Unreadable('core/configmaps/default/a', 'its key is gone');
  let isLost = false;
  const unreadable = (): Unreadable | undefined => (isLost ? lost : undefined);
  let halted: string | undefined;
  const store = {
    ...sealed,
    haltedBy: () => halted,
    atRest: { ...atRest, unreadable, unreadableAt: unreadable },
  };
  const api = await startHistoryApi({ store });
  const statuses = async (): Promise<readonly number[]> => {
    const urls = [
      FOLDER,
      `${HISTORY}/objects${FOLDER}`,
      `${HISTORY}/changes${FOLDER}`,
      `${HISTORY}/objects${FOLDER}/a`,
    ];
    const found: number[] = [];
    for (const url of urls) found.push((await api.call('GET', url)).status);
    return found;
  };
  await api.call('POST', FOLDER, { body: configMapBody('a', { v: '1' }) });
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  isLost = true;
  assert.deepEqual(await statuses(), [500, 500, 500, 500]);
  isLost = false;
  halted = 'two histories';
  assert.deepEqual(await statuses(), [503, 503, 503, 503]);
  assert.equal((await api.call('GET', `${HISTORY}/changes`)).status, 503);
  halted = undefined;
  await api.stop();
});

function startHistory() {
  const clock = createVirtualClock();
  const segments = createMemorySegments();
  const bounds = { segments, retentionMs: 600_000, limitBytes: 1e9 };
  const history = new History({ ...bounds, store: createMemoryStore(), clock, log: createSilentLog() });
  const record = (revision: number): void => {
    clock.jump(SEGMENT_MS);
    const key = `core/configmaps/default/c${revision}`;
    history.record({ revision, kind: 'created', key, value: '{}', previousRevision: 0 }, undefined);
  };
  return { history, record };
}

test('history: after a gap nothing from before it is listed, not even for a moment', async () => {
  const { history, record } = startHistory();
  await history.resume(0);
  for (let revision = 1; revision < 6; revision++) record(revision);
  await until(() => (history.sight()?.segments.length ?? 0) > 1);
  history.lost(9);
  const { oldest, segments } = history.sight() ?? {};
  assert.deepEqual([oldest, segments], [9, []]);
});

test('history: refused writes take no more than a segment while nothing changes', async () => {
  const { history, record } = startHistory();
  await history.resume(0);
  record(1);
  const author = { user: 'a', userAgent: '', verb: 'create', subresource: '', manager: '' };
  const resource = 'core/configmaps/';
  const authorship = { author, resource, requestId: '', seenOfResource: 0, seenOfAny: 0 };
  const write = { key: 'core/configmaps/default/c1', reason: 'it exists', authorship };
  for (let n = 0; n < HISTORY_SEGMENT_CHARS / 20; n++) history.refused(write);
  const count = history.sight()?.records.length ?? 0;
  assert.ok(count > 1_000 && count < HISTORY_SEGMENT_CHARS / 50, `${count} records`);
});
