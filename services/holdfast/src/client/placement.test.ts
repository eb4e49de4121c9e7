import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiResponse } from '@holdfast/client';
import { askPlacement, placementLines } from './placement.ts';

const REPORT = {
  kind: 'PlacementReport',
  apiVersion: 'scheduling.holdfast.io/v1',
  pod: { namespace: 'shop', name: 'web', uid: 'u' },
  decidedAt: '2026-01-01T00:00:00Z',
  message: '0/3 nodes are available',
  nodesTotal: 3,
  nodes: [
    { node: 'node-1', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu', 'Insufficient\u001b[2J memory'] },
  ],
  rest: [{ nodes: 2, plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'] }],
};

const answering =
  (status: number, value: unknown) =>
  async (path: string): Promise<ApiResponse> => {
    assert.equal(path, '/holdfast.io/scheduling/v1/namespaces/shop/pods/web');
    return {
      status,
      headers: {},
      body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
    };
  };

test('a line for each node and each group of the others, without control characters', async () => {
  const report = await askPlacement(answering(200, REPORT), REPORT.pod);
  assert.ok(typeof report !== 'string');
  const lines = placementLines(report);
  assert.match(lines[0] ?? '', /^ {2}NODE +PLUGIN +REASON$/);
  assert.match(lines[1] ?? '', /^ {2}node-1 +NodeResourcesFit +Insufficient cpu; Insufficient.* memory$/);
  assert.ok(!(lines[1] ?? '').includes('\u001b'));
  assert.match(lines[2] ?? '', /^ {2}2 more nodes +NodeUnschedulable +node\(s\) were unschedulable$/);
});

test('a cluster that does not tell it is no failure and says so, a refusal is', async () => {
  const unknown = { kind: 'Status', code: 404, message: 'the server could not find the requested resource' };
  const untold = await askPlacement(answering(404, unknown), REPORT.pod);
  assert.ok(typeof untold === 'string');
  assert.match(untold, /^this API server does not tell/);
  const message = 'pod "web" does not wait for a node after a refusal of the scheduler';
  const rests = { kind: 'Status', code: 404, message };
  assert.equal(await askPlacement(answering(404, rests), REPORT.pod), message);
  const refusal = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'you may not' };
  await assert.rejects(askPlacement(answering(403, refusal), REPORT.pod), /you may not/);
});
