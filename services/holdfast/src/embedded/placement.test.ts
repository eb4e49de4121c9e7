import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { PLACEMENT_API, placementPath } from '@holdfast/client/why';
import { createPlacementHandler, PlacementDesk, type PlacementSource } from './placement.ts';

const answer = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: {},
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});

/** An API server with the pod `web`, which only `alice` may read. */
function makeDesk() {
  const desk = new PlacementDesk();
  const seen: ApiRequest[] = [];
  const handle = createPlacementHandler({
    desk,
    handle: async (request) => {
      seen.push(request);
      if (request.headers['authorization'] !== 'Bearer alice') return answer(403, { kind: 'Status', code: 403 });
      return answer(200, { metadata: { uid: 'uid-web' } });
    },
  });
  const ask = async (token: string, path: string) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/yaml' };
    const { status, body } = await handle({ method: 'GET', path, query: new URLSearchParams('x=y'), headers });
    return { status, value: body.kind === 'json' ? (body.value() as Readonly<Record<string, unknown>>) : {} };
  };
  const source = (uid: string): PlacementSource => ({
    placementOf: (namespace: string, name: string) => ({
      kind: 'PlacementReport',
      apiVersion: PLACEMENT_API,
      pod: { namespace, name, uid },
      decidedAt: '2026-01-01T00:00:00Z',
      message: '0/1 nodes are available: 1 Insufficient cpu.',
      nodesTotal: 1,
      nodes: [{ node: 'node-1', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu'] }],
      rest: [],
    }),
  });
  const service = { name: 'scheduler', start: async () => {}, stop: async () => {} };
  return { desk, seen, ask, source, service };
}

const PATH = placementPath('shop', 'web');

test('who may read the pod reads why it has no node, and nobody else', async () => {
  const { desk, seen, ask, source, service } = makeDesk();
  await desk.staffedBy(service, source('uid-web')).start();
  const { status, value } = await ask('alice', PATH);
  assert.deepEqual([status, value['kind']], [200, 'PlacementReport']);
  const asked = seen[0];
  assert.deepEqual([asked?.method, asked?.path, String(asked?.query)], ['GET', '/api/v1/namespaces/shop/pods/web', '']);
  assert.equal((await ask('eve', PATH)).status, 403);
});

test('reasons of an earlier pod of the name are not told, nor those of a scheduler that is gone', async () => {
  const { desk, ask, source, service } = makeDesk();
  assert.equal((await ask('alice', PATH)).status, 503);
  const first = desk.staffedBy(service, source('uid-earlier'));
  await first.start();
  assert.equal((await ask('alice', PATH)).status, 404);
  const second = desk.staffedBy(service, source('uid-web'));
  await second.start();
  await first.stop();
  assert.equal((await ask('alice', PATH)).status, 200, 'the end of the first one is not the end of the second one');
  await second.stop();
  assert.equal((await ask('alice', PATH)).status, 503);
});

test('all other paths are those of the API', async () => {
  const { seen, ask } = makeDesk();
  await ask('alice', '/holdfast.io/scheduling/v1/namespaces/shop/pods/a%2Fb');
  await ask('alice', '/api/v1/pods');
  assert.deepEqual(
    seen.map(({ path }) => path),
    ['/holdfast.io/scheduling/v1/namespaces/shop/pods/a%2Fb', '/api/v1/pods'],
  );
});
