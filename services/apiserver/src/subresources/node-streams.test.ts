import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
import type { NodeGateway } from '../proxy/node-gateway.ts';
import { startTestApi } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';

test('streams are requested from the kubelet of the node with its paths; the identity of the caller is not forwarded', async (t) => {
  const asked: { node: string; path: string; query: string; headers: readonly string[] }[] = [];
  const request = async (node: string, { path, query, headers }: ApiRequest) => {
    asked.push({ node, path, query: String(query), headers: Object.keys(headers).toSorted() });
    return { status: 101, headers: {}, body: { kind: 'empty' }, upgrade: () => undefined } as const;
  };
  const api = await startTestApi({ nodes: () => ({ request }) });
  t.after(() => api.stop());
  const containers = [{ name: 'a', image: 'i' }];
  const pod = (name: string, nodeName: object): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers, ...nodeName },
  });
  const { body } = await api.call('POST', PODS, { body: pod('p', { nodeName: 'n1' }) });
  await api.call('POST', PODS, { body: pod('nowhere', {}) });
  const { uid } = (body as { readonly metadata: { readonly uid: string } }).metadata;

  const exec = await api.call('GET', `${PODS}/p/exec?command=ls&command=-l&stdin=true&stdout=1&tty=false&other=1`);
  assert.equal(exec.status, 101);
  assert.equal((await api.call('POST', `${PODS}/p/attach?container=a&stderr=true`)).status, 101);
  assert.equal((await api.call('POST', `${PODS}/p/portforward?ports=80,81`)).status, 101);
  assert.deepEqual(
    asked.map(({ path, query }) => `${path}?${query}`),
    [
      `/exec/default/p/${uid}/a?input=1&output=1&command=ls&command=-l`,
      `/attach/default/p/${uid}/a?error=1`,
      `/portForward/default/p/${uid}?port=80&port=81`,
    ],
  );
  assert.ok(asked.every(({ node, headers }) => node === 'n1' && !headers.includes('authorization')));

  const refused: readonly [string, number, RegExp][] = [
    ['none/exec?command=ls', 404, /pods "none" not found/],
    ['p/exec?command=ls&container=b', 400, /container b is not valid for pod p/],
    ['p/exec?stdout=1', 400, /at least one command/],
    ['nowhere/exec?command=ls', 400, /pod nowhere does not have a host assigned/],
    ['nowhere/portforward', 400, /pod nowhere does not have a host assigned/],
  ];
  for (const [path, status, message] of refused) {
    const answer = await api.call('POST', `${PODS}/${path}`);
    assert.equal(answer.status, status, path);
    assert.match(answer.textAt('message'), message);
  }
  assert.equal(asked.length, 3);
});

test('a bearer token among the protocols of a WebSocket does not reach the kubelet', async (t) => {
  const passed: unknown[] = [];
  const request: NodeGateway['request'] = async (_node, { headers }) => {
    passed.push(headers['sec-websocket-protocol']);
    return { status: 200, headers: {}, body: { kind: 'empty' } };
  };
  const api = await startTestApi({ nodes: () => ({ request }) });
  t.after(() => api.stop());
  const spec = { containers: [{ name: 'a', image: 'i' }], nodeName: 'n1' };
  await api.call('POST', PODS, { body: { metadata: { name: 'p' }, spec } });
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('admin').toString('base64url')}`;
  for (const path of [`${PODS}/p/exec?command=ls`, '/api/v1/nodes/n1/proxy/x']) {
    for (const protocols of [`v5.channel.k8s.io, ${token}, v4.channel.k8s.io`, token]) {
      const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': protocols };
      await api.call('GET', path, { headers });
    }
  }
  assert.deepEqual(passed, [
    'v5.channel.k8s.io, v4.channel.k8s.io',
    undefined,
    'v5.channel.k8s.io, v4.channel.k8s.io',
    undefined,
  ]);
});

test('a proxy without a path redirects to one, with a valid header value', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const { status, headers } = await api.call('GET', '/api/v1/nodes/日/proxy');
  assert.equal(status, 301);
  assert.equal(headers['location'], '/api/v1/nodes/%E6%97%A5/proxy/');
});

test('answers through a proxy are not cacheable for others', async (t) => {
  let kept: string | undefined;
  const request: NodeGateway['request'] = async () => ({
    status: 200,
    headers: kept === undefined ? {} : { 'cache-control': kept },
    body: { kind: 'empty' },
  });
  const api = await startTestApi({ nodes: () => ({ request }) });
  t.after(() => api.stop());
  const told = async (): Promise<string | undefined> =>
    (await api.call('GET', '/api/v1/nodes/n/proxy/x')).headers['cache-control'];
  // The front adds the common headers.
  assert.equal(await told(), undefined);
  kept = 'public, max-age=60';
  assert.equal(await told(), 'no-cache, private, public, max-age=60');
});
