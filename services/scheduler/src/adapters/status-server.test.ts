import assert from 'node:assert/strict';
import { request } from 'node:https';
import { type TestContext, test } from 'node:test';
import { createTestCertificate, serialAt, serialOf } from '@holdfast/client/testing';
import { PLACEMENT_API, type PlacementReport } from '@holdfast/client/why';
import type { StatusQuestion, Verdict } from './status-access.ts';
import { createStatusServer, type StatusServerDeps } from './status-server.ts';

const READER = 'Bearer reader';

const REPORT: PlacementReport = {
  kind: 'PlacementReport',
  apiVersion: PLACEMENT_API,
  pod: { namespace: '', name: '', uid: '' },
  decidedAt: '2026-01-01T00:00:00Z',
  message: '0/0 nodes are available',
  nodesTotal: 0,
  nodes: [],
  rest: [],
};

async function serve(t: TestContext, more: Partial<StatusServerDeps> = {}) {
  const state = {
    ready: false,
    compare: async () => ({
      nodes: { missing: [], redundant: [] },
      pods: { missing: [], redundant: [], onOtherNode: [] },
      assumed: ['a'],
    }),
  };
  const source = {
    metrics: () => 'scheduler_x 1\n',
    resourceMetrics: () => 'kube_pod_x 1\n',
    shownConfiguration: () => ({ parallelism: 16 }),
    isReady: () => state.ready,
    placementOf: (namespace: string, name: string) =>
      name === 'waits' ? { ...REPORT, pod: { namespace, name, uid: 'u' } } : undefined,
    compareCache: () => state.compare(),
  };
  const access = async (asked: StatusQuestion, authorization: string | undefined): Promise<Verdict> => {
    if (authorization === undefined) return 'unauthenticated';
    const isSecret = typeof asked === 'object' && asked.namespace === 'secret';
    return authorization === READER && asked !== '/forbidden' && !isSecret ? 'allowed' : 'forbidden';
  };
  const server = createStatusServer({ address: '127.0.0.1:0', source, access, ...more });
  await server.start();
  t.after(() => server.stop());
  const get = async (path: string, authorization?: string): Promise<readonly [number, string]> => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
    return [response.status, await response.text()];
  };
  return { server, state, get };
}

test('serves the expected endpoints for machines and people, and nothing else', async (t) => {
  const { state, get } = await serve(t);
  assert.deepEqual(await get('/metrics', READER), [200, 'scheduler_x 1\n']);
  assert.deepEqual(await get('/metrics/resources', READER), [200, 'kube_pod_x 1\n']);
  assert.deepEqual(JSON.parse((await get('/configz', READER))[1]), { componentconfig: { parallelism: 16 } });
  assert.equal((await get('/healthz'))[0], 200);
  assert.equal((await get('/readyz'))[0], 503);
  state.ready = true;
  assert.equal((await get('/readyz'))[0], 200);
  assert.deepEqual(JSON.parse((await get('/debug/cache', READER))[1]).assumed, ['a']);
  state.compare = () => Promise.reject(new Error('nobody answers'));
  assert.deepEqual(await get('/debug/cache', READER), [503, 'the API could not authorize you: nobody answers\n']);
  assert.equal((await get('/else'))[0], 404);
});

test('who may get a pod reads why it has no node', async (t) => {
  const { get } = await serve(t);
  const path = (namespace: string, name: string): string =>
    `/holdfast.io/scheduling/v1/namespaces/${namespace}/pods/${name}`;
  const [status, text] = await get(path('default', 'waits'), READER);
  assert.deepEqual([status, JSON.parse(text).pod.name], [200, 'waits']);
  assert.equal((await get(path('default', 'runs'), READER))[0], 404);
  assert.equal((await get(path('default', 'waits')))[0], 401);
  assert.deepEqual(await get(path('secret', 'waits'), READER), [
    403,
    'forbidden: you cannot get pod "waits" in "secret"\n',
  ]);
  assert.equal((await get(path('..', 'waits'), READER))[0], 404, 'no such path');
});

test('health is public, other paths are for users that the API authorizes', async (t) => {
  const { get } = await serve(t);
  for (const path of ['/metrics', '/metrics/resources', '/configz', '/debug/cache']) {
    assert.deepEqual([(await get(path))[0], (await get(path, 'Bearer other'))[0]], [401, 403]);
  }
  assert.deepEqual([(await get('/healthz'))[0], (await get('/livez'))[0]], [200, 200]);
});

test('nothing is served while the API cannot authenticate the caller', async (t) => {
  const { get } = await serve(t, { access: () => Promise.reject(new Error('no answer')) });
  assert.deepEqual(await get('/metrics', READER), [503, 'the API could not authenticate you: no answer\n']);
});

test('with a certificate it serves TLS', async (t) => {
  const { certPem, keyPem } = createTestCertificate();
  const { server } = await serve(t, { tls: { certificate: certPem, key: keyPem } });
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const target = { host: '127.0.0.1', port: server.port, path: '/healthz', ca: certPem };
    request(target, (response) => resolve(response.resume().statusCode))
      .once('error', reject)
      .end();
  });
  assert.equal(status, 200);
});

test('an address that is reachable from other machines requires a certificate', () => {
  const source = {
    metrics: () => '',
    resourceMetrics: () => '',
    shownConfiguration: () => ({}),
    isReady: () => true,
    placementOf: () => undefined,
    compareCache: () => Promise.reject(new Error('no')),
  };
  const create = (address: string): unknown => createStatusServer({ address, source, access: async () => 'allowed' });
  assert.throws(() => create('nowhere'), /form host:port, not "nowhere"/);
  for (const open of ['0.0.0.0:10259', '10.0.0.1:10259', '[::]:10259'])
    assert.throws(() => create(open), /not be encrypted/);
  for (const own of ['127.0.0.1:1', 'localhost:1', '[::1]:1', '1']) assert.ok(create(own));
});

test('a renewed certificate is served to new connections', async (t) => {
  const [first, renewed] = [createTestCertificate(), createTestCertificate()];
  const { server } = await serve(t, { tls: { certificate: first.certPem, key: first.keyPem } });
  assert.equal(await serialAt(server.port), serialOf(first));
  server.renew({ certificate: renewed.certPem, key: renewed.keyPem });
  assert.equal(await serialAt(server.port), serialOf(renewed));
});
