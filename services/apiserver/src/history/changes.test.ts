import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { configMapBody } from '../testing/fixture.ts';
import { HISTORY, type HistoryApi, SEGMENT_MS, startHistoryApi, writeSegments } from './testing.ts';

const FOLDER = '/api/v1/namespaces/default/configmaps';
const KUBECTL = { 'user-agent': 'kubectl/v1.32.0', 'audit-id': 'request-1' };

async function changes(api: HistoryApi, query: string): Promise<readonly Record<string, unknown>[]> {
  return (await api.call('GET', `${HISTORY}/changes${query}`)).at('items') as readonly Record<string, unknown>[];
}

test('history: a change has its author, the difference and what its author had seen', async () => {
  const api = await startHistoryApi();
  const headers = KUBECTL;
  const created = await api.call('POST', `${FOLDER}?fieldManager=me`, {
    headers,
    body: configMapBody('a', { v: '1' }),
  });
  const seen = await api.call('GET', FOLDER, { headers });
  await api.call('PATCH', `${FOLDER}/a`, { headers, body: { data: { v: '2' } } });
  await api.call('PATCH', `${FOLDER}/a?dryRun=All`, { headers, body: { data: { v: '3' } } });
  await api.call('DELETE', `${FOLDER}/a`, { as: 'manager' });
  const from = Number(created.at('metadata.resourceVersion')) - 1;
  for (const isWritten of [false, true]) {
    if (isWritten) await writeSegments(api, 3);
    const [first, second, third, ...rest] = await changes(api, `${FOLDER}/a?from=${from}`);
    const by = { user: 'admin', userAgent: 'kubectl/v1.32.0', requestID: 'request-1' };
    assert.deepEqual(
      [first?.['type'], first?.['by'], first?.['diff']],
      ['created', { ...by, verb: 'create', manager: 'me' }, undefined],
    );
    assert.deepEqual([second?.['type'], second?.['by']], ['updated', { ...by, verb: 'patch', manager: 'kubectl' }]);
    assert.deepEqual(second?.['diff'], [{ op: 'replace', path: '/data/v', from: '1', value: '2' }]);
    const revision = seen.at('metadata.resourceVersion');
    assert.deepEqual(second?.['seen'], { resource: revision, any: revision });
    assert.deepEqual(
      [third?.['type'], third?.['by']],
      ['deleted', { user: 'system:kube-controller-manager', verb: 'delete' }],
    );
    assert.deepEqual([third?.['seen'], rest], [undefined, []]);
  }
  await api.stop();
});

test('history: a watching client has seen what its watch delivered', async () => {
  const api = await startHistoryApi();
  const headers = { 'user-agent': 'watcher/1' };
  await api.call('POST', FOLDER, { body: configMapBody('a', { v: '1' }) });
  const watching = api.watch(`${FOLDER}?watch=1`, 3, { headers });
  for (const v of ['2', '3']) await api.call('PATCH', `${FOLDER}/a`, { body: { data: { v } } });
  const [, , last] = await watching;
  const at = String(revisionOf(last?.object));
  await api.call('PATCH', `${FOLDER}/a`, { headers, body: { data: { v: '4' } } });
  const [change] = await changes(api, `${FOLDER}/a?from=${at}`);
  assert.deepEqual(change?.['seen'], { resource: at, any: at });
  await api.stop();
});

const revisionOf = (object: unknown): number =>
  Number((object as { metadata: { resourceVersion: string } }).metadata.resourceVersion);

test('history: a refused write is part of it, and changes nothing', async () => {
  const api = await startHistoryApi();
  await api.call('POST', FOLDER, { body: configMapBody('a') });
  await api.call('POST', FOLDER, { body: configMapBody('a') });
  const [first, second] = await changes(api, `${FOLDER}/a`);
  assert.deepEqual([first?.['type'], second?.['type']], ['created', 'refused']);
  const own = first?.['revision'];
  assert.deepEqual(second?.['seen'], { resource: own, any: own }, 'its answer showed it');
  assert.equal(second?.['reason'], 'configmaps "a" already exists');
  assert.deepEqual((await api.call('GET', `${HISTORY}/objects${FOLDER}`)).names(), ['a']);
  await api.stop();
});

test('history: pages of changes are the whole list, also across segments', async () => {
  const api = await startHistoryApi();
  await writeSegments(api, 5);
  await api.call('POST', FOLDER, { body: configMapBody('c0') });
  const whole = await changes(api, '?limit=5000&diff=false');
  const paged: unknown[] = [];
  for (let token = ''; ; ) {
    const page = await api.call('GET', `${HISTORY}/changes?limit=3&diff=false${token}`);
    const items = page.at('items') as readonly unknown[];
    assert.ok(items.length <= 3);
    paged.push(...items);
    const next = page.textAt('metadata.continue');
    if (next === '') break;
    token = `&continue=${next}`;
  }
  assert.deepEqual(paged, whole);
  assert.ok(whole.length > 5);
  await api.stop();
});

test('history: only what the caller may list, in the namespaces where they may', async () => {
  const api = await startHistoryApi();
  const role = (name: string, namespace: string, rule: object): Promise<unknown> =>
    api.call('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`, {
      body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name }, rules: [rule] },
    });
  await role('reader', 'kube-system', { apiGroups: [''], resources: ['configmaps'], verbs: ['list'] });
  await role('one', 'default', { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['get'] });
  for (const [name, namespace] of [
    ['reader', 'kube-system'],
    ['one', 'default'],
  ] as const) {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
    const body = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name },
      roleRef,
      subjects,
    };
    await api.call('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, { body });
  }
  for (const name of ['mine', 'other']) await api.call('POST', FOLDER, { body: configMapBody(name) });
  await api.call('POST', '/api/v1/namespaces/kube-system/configmaps', { body: configMapBody('shared') });
  const nobody = async (url: string): Promise<number> =>
    (await api.call('GET', HISTORY + url, { as: 'nobody' })).status;
  assert.equal(await nobody(''), 200);
  assert.equal(await nobody('/objects/api/v1/configmaps'), 403);
  assert.equal(await nobody(`/objects${FOLDER}`), 403);
  assert.equal(await nobody(`/objects${FOLDER}/mine`), 200);
  assert.equal(await nobody(`/objects${FOLDER}/other`), 403);
  assert.equal(await nobody(`/changes${FOLDER}`), 403);
  assert.equal(await nobody(`/changes${FOLDER}/mine`), 200);
  assert.equal(await nobody('/changes/api/v1/namespaces/kube-system/configmaps'), 200);
  assert.equal(await nobody('/changes/api/v1/secrets'), 403);
  api.clock.jump(SEGMENT_MS);
  const shown = (await api.call('GET', `${HISTORY}/changes?limit=5000`, { as: 'nobody' })).at('items');
  const objects = (shown as readonly { object: { resource: string; namespace: string; name: string } }[]).map(
    ({ object }) => object,
  );
  assert.ok(objects.every(({ resource, namespace }) => resource === 'configmaps' && namespace === 'kube-system'));
  assert.ok(objects.some(({ name }) => name === 'shared'));
  assert.equal((await api.call('GET', HISTORY, { as: 'anonymous' })).status, 403);
  await api.stop();
});

test('history: what a component says to have learned from the bus counts, but nothing that is still to come', async () => {
  const api = await startHistoryApi();
  await api.call('POST', FOLDER, { body: configMapBody('a', { v: '1' }) });
  const write = async (v: string, said: string): Promise<unknown> => {
    const headers = { 'holdfast-had-seen': said, 'user-agent': `component/${v}` };
    const answer = await api.call('PATCH', `${FOLDER}/a`, { headers, body: { data: { v } } });
    const from = Number(answer.at('metadata.resourceVersion')) - 1;
    return (await changes(api, `${FOLDER}/a?from=${from}`))[0]?.['seen'];
  };
  assert.deepEqual(await write('2', '3 7'), { resource: '3', any: '7' });
  assert.deepEqual(await write('3', '0 7'), { any: '7' });
  assert.equal(await write('4', 'everything'), undefined);
  const { any } = (await write('5', '9999999 9999999')) as { any: string };
  assert.ok(Number(any) < 1000, any);
  await api.stop();
});
