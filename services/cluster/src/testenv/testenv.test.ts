import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { parseTime } from '@holdfast/platform';
import { clientOf, configMap, serve, TOKEN } from './testing.ts';

test('a cluster is created, its time moves, and it is deleted', async (t) => {
  const ask = await serve(t);
  const created = await ask('POST', '/clusters', { hollowNodes: 1, clock: 'virtual' });
  assert.equal(created.status, 201);
  const { id, now, kubeconfig, ...summary } = created.body;
  assert.equal(summary.clock, 'virtual');
  const client = clientOf(t, created.body);
  await client.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'once', namespace: 'default' },
    spec: { containers: [{ name: 'main', image: 'app', resources: {} }] },
    status: {},
  });
  const advanced = await ask('POST', `/clusters/${id}/advance`, { duration: '1m' });
  assert.deepEqual([advanced.status, (parseTime(advanced.body.now) ?? 0) - (parseTime(now) ?? 0)], [200, 60_000]);
  assert.equal((await client.get(PODS, { namespace: 'default', name: 'once' })).status?.phase, 'Running');
  assert.deepEqual((await ask('GET', `/clusters/${id}`)).body.kubeconfig, kubeconfig);
  assert.deepEqual((await ask('GET', '/clusters')).body, { items: [{ id, ...summary, now: advanced.body.now }] });
  assert.equal((await ask('DELETE', `/clusters/${id}`)).status, 204);
  assert.equal((await ask('DELETE', `/clusters/${id}`)).status, 404);
  assert.deepEqual((await ask('GET', '/clusters')).body, { items: [] });
});

test('snapshots are forked and restored, and outlive their cluster', async (t) => {
  const ask = await serve(t);
  const { body: first } = await ask('POST', '/clusters');
  const client = clientOf(t, first);
  await client.create(CONFIG_MAPS, configMap('before'));
  const { status, body: snapshot } = await ask('POST', `/clusters/${first.id}/snapshots`);
  assert.equal(status, 201);
  assert.deepEqual((await ask('GET', '/snapshots')).body, { items: [snapshot] });
  await client.create(CONFIG_MAPS, configMap('after'));
  const namesOf = async (from: ApiClient): Promise<readonly (string | undefined)[]> =>
    (await from.list(CONFIG_MAPS, { namespace: 'default' })).items.map(({ metadata }) => metadata.name);
  const restored = await ask('POST', `/clusters/${first.id}/restore`, { snapshot: snapshot.id });
  assert.deepEqual([restored.status, restored.body.kubeconfig], [200, first.kubeconfig]);
  assert.deepEqual(await namesOf(client), ['before', 'kube-root-ca.crt']);
  await ask('DELETE', `/clusters/${first.id}`);
  const fork = await ask('POST', `/snapshots/${snapshot.id}/fork`, { clock: 'virtual' });
  assert.deepEqual([fork.status, fork.body.clock], [201, 'virtual']);
  assert.deepEqual(await namesOf(clientOf(t, fork.body)), ['before', 'kube-root-ca.crt']);
  assert.equal((await ask('DELETE', `/snapshots/${snapshot.id}`)).status, 204);
  assert.equal((await ask('POST', `/snapshots/${snapshot.id}/fork`)).status, 404);
});

test('a lens is made for a user, turned off and on, and removed', async (t) => {
  const ask = await serve(t);
  const { body: cluster } = await ask('POST', '/clusters', { without: ['scheduler', 'controllers'] });
  const user = await ask('POST', `/clusters/${cluster.id}/users`, { name: 'operator', groups: ['system:masters'] });
  assert.equal(user.status, 201);
  const operator = clientOf(t, { url: cluster.url, kubeconfig: user.body.kubeconfig });
  const made = await ask('POST', `/clusters/${cluster.id}/lenses`, { kind: 'webhookDown', user: 'operator' });
  const view = { id: 'lens-1', cluster: cluster.id, kind: 'webhookDown', isView: false, isOn: true, hits: 0 };
  assert.deepEqual([made.status, made.body], [201, view]);
  await assert.rejects(operator.create(CONFIG_MAPS, configMap('one')), { code: 500 });
  const off = await ask('POST', '/lenses/lens-1/off');
  assert.deepEqual([off.status, off.body], [200, { ...view, isOn: false, hits: 1 }]);
  await operator.create(CONFIG_MAPS, configMap('one'));
  assert.deepEqual((await ask('POST', '/lenses/lens-1/on')).body, view);
  await assert.rejects(operator.create(CONFIG_MAPS, configMap('two')), { code: 500 });
  assert.equal((await ask('DELETE', '/lenses/lens-1')).status, 204);
  assert.deepEqual((await ask('GET', `/clusters/${cluster.id}/lenses`)).body.items, []);
  const rows = [
    ['/lenses/lens-1/on', {}, 404, /no lens "lens-1"/],
    [`/clusters/${cluster.id}/lenses`, { kind: 'slow', user: 'operator' }, 400, /kind has to be "stale" or/],
    [`/clusters/${cluster.id}/lenses`, { kind: 'stale' }, 400, /a lens needs a client/],
    [`/clusters/${cluster.id}/lenses`, { kind: 'stale', user: 'operator', ms: 5 }, 400, /no setting "ms"/],
    [
      `/clusters/${cluster.id}/lenses`,
      { kind: 'paused', user: 'operator', pid: process.pid },
      400,
      /the pid is that of the cluster itself/,
    ],
    ['/clusters/none/lenses', { kind: 'stale', user: 'operator' }, 404, /no cluster/],
  ] as const;
  for (const [path, body, status, message] of rows) {
    const answer = await ask('POST', path, body);
    assert.equal(answer.status, status);
    assert.match(answer.body.message, message);
    assert.notEqual(answer.body.nextStep, '');
  }
});

test('every mistake is answered with one sentence, the next step, and the fitting status', async (t) => {
  const ask = await serve(t, { clusters: 1, snapshots: 1 });
  const { body: real } = await ask('POST', '/clusters', {});
  const rows: readonly (readonly [number, RegExp, string, string, unknown?])[] = [
    [404, /no path \/cluster/, 'GET', '/cluster'],
    [404, /no path/, 'GET', '/clusters/'],
    [404, /no cluster "__proto__"/, 'GET', '/clusters/__proto__'],
    [404, /no snapshot "snapshot-9"/, 'DELETE', '/snapshots/snapshot-9'],
    [404, /no snapshot "x"/, 'POST', `/clusters/${real.id}/restore`, { snapshot: 'x' }],
    [405, /has no method PUT/, 'PUT', '/clusters'],
    [400, /no operation has query parameters/, 'GET', '/clusters?limit=1'],
    [400, /is not JSON/, 'POST', '/clusters', '{'],
    [400, /the body has to be an object/, 'POST', '/clusters', '[]'],
    [400, /no field nodes$/, 'POST', '/clusters', { nodes: 1 }],
    [400, /no field onLog$/, 'POST', '/clusters', { onLog: 1 }],
    [400, /no field __proto__$/, 'POST', '/clusters', '{"__proto__": {}}'],
    [400, /hollowNodes has to be a whole number from 0 to 10000 or a list/, 'POST', '/clusters', { hollowNodes: 'x' }],
    [400, /hollowNodes\[0\]\.name has to be a text/, 'POST', '/clusters', { hollowNodes: [{ name: 1 }] }],
    [400, /clock has to be "real" or "virtual"/, 'POST', '/clusters', { clock: 'fast' }],
    [400, /https has to be an object/, 'POST', '/clusters', { https: false }],
    [400, /the field duration is missing/, 'POST', `/clusters/${real.id}/advance`, {}],
    [400, /no field more$/, 'POST', `/clusters/${real.id}/snapshots`, { more: 1 }],
    [409, /runs on real time/, 'POST', `/clusters/${real.id}/advance`, { duration: '1s' }],
    [413, /larger than/, 'POST', '/clusters', JSON.stringify({ a: 'x'.repeat(1024 * 1024) })],
    [429, /there are 1 clusters/, 'POST', '/clusters', {}],
  ];
  for (const [status, message, method, path, body] of rows) {
    const answer = await ask(method, path, body);
    assert.equal(answer.status, status, `${method} ${path} ${answer.body.message}`);
    assert.match(answer.body.message, message);
    assert.notEqual(answer.body.nextStep, '');
    assert.deepEqual(Object.keys(answer.body), ['message', 'nextStep']);
  }
  assert.equal((await ask('PUT', '/clusters')).headers.get('allow'), 'POST, GET');
  assert.equal((await ask('GET', '/clusters')).body.items.length, 1);
  assert.equal((await ask('POST', `/clusters/${real.id}/snapshots`)).status, 201);
  assert.equal((await ask('POST', `/clusters/${real.id}/snapshots`)).status, 429);
  await ask('DELETE', `/clusters/${real.id}`);
  for (const [body, message] of [
    [{ features: { magic: true } }, /"magic" is not a feature/],
    [{ hollowNodes: [{ name: 'a' }, { name: 'a' }] }, /two nodes have the name/],
    [{ processNodes: 1, clock: 'virtual' }, /process nodes run on real time/],
    [{ processNodes: [{ capacity: {} }] }, /no field processNodes\[0\]\.capacity/],
  ] as const) {
    const answer = await ask('POST', '/clusters', body);
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, message);
  }
  const { body: virtual } = await ask('POST', '/clusters', { clock: 'virtual' });
  const soon = await ask('POST', `/clusters/${virtual.id}/advance`, { duration: 'soon' });
  assert.deepEqual([soon.status, soon.body.message], [400, '"soon" is not a duration']);
});

test('without the token nothing is answered but the description, which names every operation', async (t) => {
  const ask = await serve(t);
  for (const token of ['wrong', '', `${TOKEN}x`]) {
    const answer = await ask('POST', '/clusters', {}, token);
    assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer']);
  }
  assert.deepEqual((await ask('GET', '/clusters')).body.items, []);
  const { body } = await ask('GET', '/openapi.json', undefined, 'none');
  assert.match(body.openapi, /^3\./);
  assert.deepEqual(Object.keys(body.paths).toSorted(), [
    '/clusters',
    '/clusters/{id}',
    '/clusters/{id}/advance',
    '/clusters/{id}/diff',
    '/clusters/{id}/history',
    '/clusters/{id}/lenses',
    '/clusters/{id}/reset',
    '/clusters/{id}/restore',
    '/clusters/{id}/snapshots',
    '/clusters/{id}/users',
    '/lenses/{id}',
    '/lenses/{id}/off',
    '/lenses/{id}/on',
    '/snapshots',
    '/snapshots/{id}',
    '/snapshots/{id}/diff',
    '/snapshots/{id}/fork',
  ]);
  assert.equal(body.paths['/clusters']?.post?.operationId, 'createCluster');
  assert.equal(body.paths['/clusters/{id}']?.parameters?.[0]?.name, 'id');
});

test('history: who changed what, as the API answers it; a field that is none is refused', async (t) => {
  const ask = await serve(t);
  const { body: cluster } = await ask('POST', '/clusters', { clock: 'virtual' });
  await clientOf(t, cluster).create(CONFIG_MAPS, configMap('mine'));
  const place = `/clusters/${cluster.id}/history`;
  const { status, body } = await ask('POST', place, {
    path: '/api/v1/namespaces/default/configmaps/mine',
    since: '1h',
  });
  const changes = body.items as readonly { type: string; by: { userAgent: string } }[];
  assert.deepEqual([status, changes.map(({ type, by }) => `${type} ${by.userAgent}`)], [200, ['created test']]);
  assert.equal((await ask('POST', place, { since: 'x' })).status, 400);
  assert.equal((await ask('POST', place, { until: '1h' })).status, 400);
});
