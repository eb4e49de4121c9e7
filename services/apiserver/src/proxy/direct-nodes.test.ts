import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import type { ApiRequest } from '@holdfast/client';
import { createDirectNodes } from './direct-nodes.ts';

const ASKED: ApiRequest = { method: 'GET', path: '/healthz', query: new URLSearchParams(), headers: {} };

test('a kubelet of this process is called; an unknown node is not found; a remote node is an error', async () => {
  const nodes = createDirectNodes();
  nodes.add('n1', () => Promise.resolve({ status: 200, headers: {}, body: { kind: 'empty' } }));
  const fresh = async <T extends KubeObject>(_resource: unknown, { name }: { readonly name: string }) =>
    name === 'foreign' ? ({ metadata: { name } } as T) : undefined;
  const gateway = nodes.gateway({ fresh });
  assert.equal((await gateway.request('n1', ASKED)).status, 200);
  await assert.rejects(gateway.request('none', ASKED), { code: 404, message: 'nodes "none" not found' });
  await assert.rejects(gateway.request('foreign', ASKED), { code: 500 });
});
