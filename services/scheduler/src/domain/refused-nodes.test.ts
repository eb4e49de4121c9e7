import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeRejection } from '../framework/prepared.ts';
import { REFUSED_GROUPS_MAX, REFUSED_NODES_NAMED_MAX, REFUSED_REASON_LENGTH_MAX } from '../limits.ts';
import { buildNode } from '../testing/builders.ts';
import { clusterOf } from '../testing/cluster.ts';
import { refusedNodes } from './refused-nodes.ts';

const nodesOf = (count: number) => clusterOf(Array.from({ length: count }, (_, i) => buildNode(`n${i}`))).nodes;
const rejectedBy = (plugin: string, ...reasons: readonly string[]): NodeRejection => ({
  plugin,
  reasons,
  resolvable: false,
});

test('each node has the plugin that rejected it, and nodes that were not looked at have the reason for all others', () => {
  const rejections = new Map([['n0', rejectedBy('NodeResourcesFit', 'Insufficient cpu', 'Insufficient memory')]]);
  const others = rejectedBy('NodeAffinity', "node(s) didn't satisfy plugin(s) [NodeAffinity]");
  assert.deepEqual(refusedNodes(nodesOf(2), { rejections, others }), {
    total: 2,
    nodes: [
      { node: 'n0', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu', 'Insufficient memory'] },
      { node: 'n1', plugin: 'NodeAffinity', reasons: ["node(s) didn't satisfy plugin(s) [NodeAffinity]"] },
    ],
    rest: [],
  });
});

test('a large cluster names a bounded number of nodes, and counts the others by equal reasons', () => {
  const all = nodesOf(REFUSED_NODES_NAMED_MAX + 300);
  const rejections = new Map(
    all.map(({ name }, i) => [name, i % 3 === 0 ? rejectedBy('A', 'a') : rejectedBy('B', 'b')] as const),
  );
  const { total, nodes, rest } = refusedNodes(all, { rejections, others: undefined });
  assert.deepEqual([total, nodes.length], [all.length, REFUSED_NODES_NAMED_MAX]);
  assert.deepEqual(rest, [
    { nodes: 200, plugin: 'B', reasons: ['b'] },
    { nodes: 100, plugin: 'A', reasons: ['a'] },
  ]);
});

test('what plugins and extenders say is bounded, too', () => {
  const all = nodesOf(REFUSED_NODES_NAMED_MAX + 3 * REFUSED_GROUPS_MAX);
  const long = 'x'.repeat(10_000);
  const rejections = new Map(
    all.map(({ name }, i) => [name, rejectedBy('Extender', `${i} ${long}`, ...Array<string>(50).fill('y'))] as const),
  );
  const { nodes, rest } = refusedNodes(all, { rejections, others: undefined });
  assert.equal(nodes[0]?.reasons[0]?.length, REFUSED_REASON_LENGTH_MAX);
  assert.ok((nodes[0]?.reasons.length ?? 0) < 10);
  assert.deepEqual(rest.at(-1), { nodes: 2 * REFUSED_GROUPS_MAX, plugin: '', reasons: [] });
  assert.equal(rest.length, REFUSED_GROUPS_MAX + 1);
});

test('equal pods share what was found', () => {
  const all = nodesOf(1);
  const rejections = new Map([['n0', rejectedBy('A', 'a')]]);
  assert.equal(
    refusedNodes(all, { rejections, others: undefined }),
    refusedNodes(all, { rejections, others: undefined }),
  );
});
