import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, NODES, PODS, type Pod } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { createApiClient } from './api-client.ts';
import { hadSeenBy } from './had-seen.ts';
import { createDirectTransport } from './transport/direct.ts';
import type { ApiRequest, ApiResponse } from './transport/port.ts';

const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: {},
  body: { kind: 'json', bytes: () => new Uint8Array(), value: () => value },
});

function rig(answer: (request: ApiRequest) => ApiResponse = () => json(200, { metadata: { name: 'x' } })) {
  const requests: ApiRequest[] = [];
  const transport = createDirectTransport(async (request) => {
    requests.push(request);
    return answer(request);
  });
  const client = createApiClient({ transport, token: () => 'secret', userAgent: 'test/1' });
  const said = (): string[] =>
    requests.map((r) => `${r.method} ${r.path}${r.query.size > 0 ? `?${r.query.toString()}` : ''}`);
  return { client, requests, said };
}

test('paths and verbs are those of Kubernetes', async () => {
  const { client, requests, said } = rig();
  const pod = { namespace: 'ns', name: 'x' };
  const object: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: pod, spec: { containers: [] }, status: {} };
  await client.get(PODS, pod);
  await client.list(DEPLOYMENTS, { namespace: 'ns', labelSelector: 'a=b', limit: 5 });
  await client.list(NODES, { fieldSelector: 'metadata.name=n' });
  await client.create(PODS, object);
  await client.update(PODS, object);
  await client.updateStatus(PODS, object);
  await client.patch(NODES, { name: 'n' }, { type: 'strategic', body: {}, subresource: 'status' });
  await client.delete(PODS, pod, { gracePeriodSeconds: 0, uid: 'u' });
  await client.bind(pod, 'node', 'u');
  await client.evict(pod);
  assert.deepEqual(said(), [
    'GET /api/v1/namespaces/ns/pods/x',
    'GET /apis/apps/v1/namespaces/ns/deployments?labelSelector=a%3Db&limit=5',
    'GET /api/v1/nodes?fieldSelector=metadata.name%3Dn',
    'POST /api/v1/namespaces/ns/pods',
    'PUT /api/v1/namespaces/ns/pods/x',
    'PUT /api/v1/namespaces/ns/pods/x/status',
    'PATCH /api/v1/nodes/n/status',
    'DELETE /api/v1/namespaces/ns/pods/x',
    'POST /api/v1/namespaces/ns/pods/x/binding',
    'POST /api/v1/namespaces/ns/pods/x/eviction',
  ]);
  assert.equal(requests[6]?.headers['content-type'], 'application/strategic-merge-patch+json');
  assert.ok(requests.every((r) => r.headers['authorization'] === 'Bearer secret'));
  const body: unknown = JSON.parse(String(requests[7]?.body));
  assert.deepEqual(body, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u' },
  });
});

test('answers of 400 and above reject with the Status of the server', async () => {
  const status = { kind: 'Status', status: 'Failure', code: 409, reason: 'Conflict', message: 'no' };
  const { client } = rig(() => json(409, status));
  await assert.rejects(
    client.get(NODES, { name: 'x' }),
    (e) => e instanceof StatusError && e.code === 409 && e.reason === 'Conflict' && e.message === 'no',
  );
});

test('find returns undefined for 404 only', async () => {
  const missing = rig(() => json(404, { code: 404, reason: 'NotFound', message: 'gone' }));
  assert.equal(await missing.client.find(NODES, { name: 'x' }), undefined);
  const broken = rig(() => json(500, { code: 500, reason: 'InternalError', message: 'bug' }));
  await assert.rejects(broken.client.find(NODES, { name: 'x' }), StatusError);
});

test('list items without a kind get the kind of the list', async () => {
  const { client } = rig(() => json(200, { metadata: { resourceVersion: '9' }, items: [{ metadata: { name: 'n' } }] }));
  const list = await client.list(NODES);
  assert.equal(list.resourceVersion, '9');
  assert.equal(list.continueToken, undefined);
  assert.deepEqual(list.items[0], { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
});

test('an ERROR frame ends a watch with its Status', async () => {
  async function* frames() {
    const event = { type: 'ERROR' as const, object: { code: 410, reason: 'Expired', message: 'too old' } };
    yield { bytes: () => new Uint8Array(), value: () => event };
  }
  const { client } = rig(() => ({ status: 200, headers: {}, body: { kind: 'watch', frames: frames() } }));
  const { signal } = new AbortController();
  await assert.rejects(
    async () => {
      for await (const event of client.watch(NODES, { resourceVersion: '1', signal })) assert.fail(event.type);
    },
    (e) => e instanceof StatusError && e.code === 410,
  );
});

const METADATA_LIST = /^application\/json;as=PartialObjectMetadataList;g=meta\.k8s\.io;v=v1, application\/json$/;

test('metadata alone is asked for, and nothing else is kept when the server sends whole objects', async () => {
  const extras = {
    managedFields: [{ manager: 'm', fieldsV1: {} }],
    annotations: { note: 'text', 'holdfast.io/seen': 's' },
    labels: { a: 'b' },
  };
  const pod = { metadata: { name: 'a', ...extras }, spec: { containers: [] } };
  const partial = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'b' } };
  const { client, requests } = rig(() => json(200, { metadata: {}, items: [pod, partial] }));
  const { items } = await client.list(PODS, { metadataOnly: true });
  assert.match(requests[0]?.headers['accept'] ?? '', METADATA_LIST);
  assert.deepEqual(items, [
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', annotations: { 'holdfast.io/seen': 's' } } },
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'b' } },
  ]);
});

test('a watch of an aggregated server that arrives as a stream is read line by line', async () => {
  const object = { metadata: { name: 'a' }, spec: {} };
  const text = Buffer.from(['ADDED', 'DELETED'].map((type) => `${JSON.stringify({ type, object })}\n`).join(''));
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield text.subarray(0, 30);
    yield text.subarray(30);
  }
  const { client, requests } = rig(() => ({ status: 200, headers: {}, body: { kind: 'stream', chunks: chunks() } }));
  const seen: unknown[] = [];
  const { signal } = new AbortController();
  const events = client.watch(NODES, { resourceVersion: '1', signal, metadataOnly: true });
  for await (const event of events) seen.push(event);
  const kept = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } };
  assert.deepEqual(seen, [
    { type: 'ADDED', object: kept },
    { type: 'DELETED', object: kept },
  ]);
  assert.match(requests[0]?.headers['accept'] ?? '', /as=PartialObjectMetadata;/);
});

test('resources of a version are listed without subresources, also when the answer is a stream', async () => {
  const resources = [
    { name: 'flunders', kind: 'Flunder', namespaced: true, verbs: ['list', 'delete'] },
    { name: 'flunders/status', kind: 'Flunder', namespaced: true, verbs: ['get'] },
    { name: 'fischers', kind: 'Fischer', namespaced: false },
  ];
  const text = Buffer.from(JSON.stringify({ kind: 'APIResourceList', resources }));
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield text.subarray(0, 20);
    yield text.subarray(20);
  }
  const streamed = (status: number, contentType: string): ApiResponse => ({
    status,
    headers: { 'content-type': contentType },
    body: { kind: 'stream', chunks: chunks() },
  });
  const { client, said } = rig(() => streamed(200, 'application/json'));
  const of = { group: 'wardle.example.com', version: 'v1' };
  assert.deepEqual(await client.resourcesOf(of.group, of.version), [
    { ref: { ...of, kind: 'Flunder', plural: 'flunders', namespaced: true }, verbs: ['list', 'delete'] },
    { ref: { ...of, kind: 'Fischer', plural: 'fischers', namespaced: false }, verbs: [] },
  ]);
  assert.deepEqual(said(), ['GET /apis/wardle.example.com/v1']);
  const refusing = rig(() => streamed(503, 'text/plain'));
  await assert.rejects(refusing.client.resourcesOf(of.group, of.version), { code: 503 });
});

test('a write says what the informers of its client have seen, a read does not', async () => {
  const { client, requests } = rig();
  const pod = { namespace: 'ns', name: 'x' };
  const said = (): string | undefined => requests.at(-1)?.headers['holdfast-had-seen'];
  await client.delete(PODS, pod);
  assert.equal(said(), undefined);
  hadSeenBy(client).note(NODES, 7);
  hadSeenBy(client).note(PODS, 5);
  hadSeenBy(client).note(PODS, 4);
  await client.delete(PODS, pod);
  assert.equal(said(), '5 7');
  await client.bind(pod, 'node', 'u');
  assert.equal(said(), '5 7');
  await client.patch(DEPLOYMENTS, pod, { type: 'merge', body: {} });
  assert.equal(said(), '0 7');
  await client.get(PODS, pod);
  assert.equal(said(), undefined);
});
