import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Api, ApiFailure } from './api.ts';
import type { ApiObject } from './object.ts';
import { readPlacement, waitsForNode } from './placement.ts';

const podOf = (spec: Readonly<Record<string, unknown>>, metadata: object = {}): ApiObject =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop', ...metadata }, spec }) as ApiObject;

test('only a pod that still has to be placed is asked about', () => {
  assert.equal(waitsForNode(podOf({})), true);
  assert.equal(waitsForNode(podOf({ nodeName: 'node-1' })), false);
  assert.equal(waitsForNode(podOf({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })), false);
  assert.equal(waitsForNode({ ...podOf({}), kind: 'Service' }), false);
});

test('a server without these reasons is no failure; a refusal is', async () => {
  const asked: string[] = [];
  const failing = (code: number): Api => ({
    json: (path) => {
      asked.push(path);
      return Promise.reject(new ApiFailure(code, 'no'));
    },
    text: () => Promise.reject(new Error('not asked')),
    stream: () => Promise.reject(new Error('not asked')),
  });
  assert.equal(await readPlacement(failing(404), podOf({})), undefined);
  await assert.rejects(readPlacement(failing(403), podOf({})), /no/);
  assert.equal(asked[0], '/holdfast.io/scheduling/v1/namespaces/shop/pods/web');
});
