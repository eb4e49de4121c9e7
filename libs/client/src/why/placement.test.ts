import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PlacementReport, placementPath, placementPodOf, placementRows } from './placement.ts';

const report = (more: Pick<PlacementReport, 'nodes' | 'rest'>): PlacementReport => ({
  kind: 'PlacementReport',
  apiVersion: 'scheduling.holdfast.io/v1',
  pod: { namespace: 'default', name: 'web', uid: 'u' },
  decidedAt: '2026-01-01T00:00:00Z',
  message: '',
  nodesTotal: 3,
  ...more,
});

test('nodes are rows in the order of their numbers, and the others are counted by equal reasons', () => {
  const plugin = 'NodeResourcesFit';
  const rows = placementRows(
    report({
      nodes: [
        { node: 'node-10', plugin, reasons: ['Insufficient cpu', 'Insufficient memory'] },
        { node: 'node-2', plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'] },
      ],
      rest: [
        { nodes: 70, plugin, reasons: ['Insufficient cpu'] },
        { nodes: 1, plugin: '', reasons: [] },
      ],
    }),
  );
  assert.deepEqual(
    rows.map(({ who, reasons }) => `${who}: ${reasons}`),
    [
      'node-2: node(s) were unschedulable',
      'node-10: Insufficient cpu; Insufficient memory',
      '70 more nodes: Insufficient cpu',
      '1 more node: for other reasons',
    ],
  );
});

test('a path names one pod, and nothing else', () => {
  assert.deepEqual(placementPodOf(placementPath('shop', 'web-1.x')), { namespace: 'shop', name: 'web-1.x' });
  for (const path of ['/holdfast.io/scheduling/v1', `${placementPath('shop', 'web')}/log`, placementPath('a/b', 'c')]) {
    assert.equal(placementPodOf(path), undefined, path);
  }
});
