import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import type { JsonObject } from '@holdfast/machinery';
import { createPodInfo } from '../domain/pod-info.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { buildNode, buildPod, type NodeShape, type PodShape } from '../testing/builders.ts';
import { clusterOf, configured, decideFully, outcome, pluginOf, told } from '../testing/cluster.ts';
import { IMAGE_LOCALITY } from './image-locality.ts';
import { NODE_RESOURCES_BALANCED } from './node-resources-balanced.ts';
import { NODE_RESOURCES_FIT } from './node-resources-fit.ts';

/** Raw scores of each node. */
function scores(
  definition: PluginDefinition,
  nodes: Readonly<Record<string, NodeShape>>,
  options: { readonly pod: Pod; readonly placed?: readonly Pod[]; readonly args?: JsonObject },
): readonly number[] | undefined {
  const cluster = clusterOf(
    Object.entries(nodes).map(([name, shape]) => buildNode(name, shape)),
    options.placed ?? [],
  );
  const plugin = pluginOf(definition, options.args, cluster);
  const scorer = plugin.preScore?.({ pod: createPodInfo(options.pod), snapshot: cluster }, cluster.nodes);
  return scorer === undefined ? undefined : cluster.nodes.map((node) => scorer.score(node));
}

const half: PodShape = { cpu: '2', memory: '4Gi' };
const strategy = (type: string, more: JsonObject = {}): JsonObject => ({ scoringStrategy: { type, ...more } });
const two = { empty: {}, used: {} };
const placed = [buildPod('x', { ...half, nodeName: 'used' })];

test('NodeResourcesFit: least allocated, most allocated, or a custom curve', () => {
  const pod = buildPod('p', { cpu: '1', memory: '2Gi' });
  assert.deepEqual(scores(NODE_RESOURCES_FIT, two, { pod, placed }), [75, 25]);
  assert.deepEqual(scores(NODE_RESOURCES_FIT, two, { pod, placed, args: strategy('MostAllocated') }), [25, 75]);
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 50, score: 10 },
    { utilization: 100, score: 0 },
  ];
  const curve = strategy('RequestedToCapacityRatio', { requestedToCapacityRatio: { shape } });
  assert.deepEqual(scores(NODE_RESOURCES_FIT, two, { pod, placed, args: curve }), [50, 50]);
  const weighted = strategy('LeastAllocated', { resources: [{ name: 'cpu', weight: 3 }, { name: 'memory' }] });
  const cpuOnly = buildPod('p', { cpu: '4', memory: '0' });
  assert.deepEqual(scores(NODE_RESOURCES_FIT, { n: {} }, { pod: cpuOnly, args: weighted }), [25]);
});

test('NodeResourcesFit: a curve is evaluated in integers', () => {
  // 100 * 29 / 100 is 29, although 0.29 * 100 truncates to 28; descending, 100 - 100 * 7 / 100 is 93.
  const curve = (first: number, last: number): JsonObject =>
    strategy('RequestedToCapacityRatio', {
      resources: [{ name: 'cpu' }],
      requestedToCapacityRatio: {
        shape: [
          { utilization: 0, score: first },
          { utilization: 100, score: last },
        ],
      },
    });
  const asks = (percent: number): Pod => buildPod('p', { cpu: `${percent * 40}m` });
  const scoreOf = (percent: number, args: JsonObject) =>
    scores(NODE_RESOURCES_FIT, { n: {} }, { pod: asks(percent), args });
  for (const percent of [7, 14, 28, 29, 55, 57, 58]) {
    assert.deepEqual(scoreOf(percent, curve(0, 10)), [percent], `${percent} upwards`);
    assert.deepEqual(scoreOf(percent, curve(10, 0)), [100 - percent], `${percent} downwards`);
  }
});

test('NodeResourcesFit: an extended resource counts for pods that request it, and ignored ones do not count', () => {
  const gpu = { 'test.dev/gpu': '4' };
  const nodes = { with: { resources: gpu }, without: {} };
  const args = strategy('MostAllocated', { resources: [{ name: 'test.dev/gpu' }] });
  const asks = buildPod('p', {
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { 'test.dev/gpu': '1' } } }] },
  });
  assert.deepEqual(scores(NODE_RESOURCES_FIT, nodes, { pod: asks, args }), [25, 0]);
  assert.deepEqual(scores(NODE_RESOURCES_FIT, nodes, { pod: buildPod('q'), args }), [0, 0]);
  const bare = clusterOf([buildNode('n')]);
  assert.match(outcome(bare, asks), /1 Insufficient test\.dev\/gpu/);
  for (const ignored of [{ ignoredResources: ['test.dev/gpu'] }, { ignoredResourceGroups: ['test.dev'] }]) {
    assert.equal(told(decideFully(bare, asks, { configuration: configured('NodeResourcesFit', ignored) })), 'n');
  }
});

test('NodeResourcesBalancedAllocation: equal shares of all resources are best', () => {
  const pod = buildPod('p', { cpu: '2', memory: '4Gi' });
  const skewed = [buildPod('x', { cpu: '2', memory: '0', nodeName: 'used' })];
  assert.deepEqual(scores(NODE_RESOURCES_BALANCED, two, { pod, placed: skewed }), [100, 75]);
  const resources = ['cpu', 'memory', 'ephemeral-storage'].map((name) => ({ name }));
  const nodes = { n: { resources: { 'ephemeral-storage': '10Gi' } } };
  const [score = 0] = scores(NODE_RESOURCES_BALANCED, nodes, { pod, args: { resources } }) ?? [];
  assert.equal(score, 76, 'standard deviation of 0.5, 0.5 and 0');
});

test('NodeResourcesBalancedAllocation: a device counts only for pods that request one', () => {
  const args = { resources: ['cpu', 'memory', 'test.dev/gpu'].map((name) => ({ name })) };
  const nodes = { n: { resources: { 'test.dev/gpu': '2' } } };
  const asks = (gpus: number): Pod => {
    const devices = gpus === 0 ? {} : { 'test.dev/gpu': String(gpus) };
    const requests = { cpu: '2', memory: '4Gi', ...devices };
    return buildPod('p', { spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }] } });
  };
  assert.deepEqual(scores(NODE_RESOURCES_BALANCED, nodes, { pod: asks(0), args }), [100], 'a half and a half');
  assert.deepEqual(scores(NODE_RESOURCES_BALANCED, nodes, { pod: asks(1), args }), [100], 'three halves');
  assert.deepEqual(
    scores(NODE_RESOURCES_BALANCED, nodes, { pod: asks(2), args }),
    [76],
    'deviation 0.2357 of 1/2, 1/2, 1',
  );
  assert.deepEqual(scores(NODE_RESOURCES_BALANCED, { n: {} }, { pod: asks(2), args }), [100], 'the node has none');
});

test('ImageLocality: nodes with large images score higher, less so when few nodes have them', () => {
  const MEGABYTE = 1024 * 1024;
  const withImage = (megabytes: number): NodeShape => ({ images: { 'app:v1': megabytes * MEGABYTE } });
  const pod = (image: string): Pod => buildPod('p', { spec: { containers: [{ name: 'c', image, resources: {} }] } });
  const everywhere = { a: withImage(511.5), b: withImage(511.5) };
  assert.deepEqual(scores(IMAGE_LOCALITY, everywhere, { pod: pod('app:v1') }), [50, 50]);
  assert.deepEqual(scores(IMAGE_LOCALITY, { a: withImage(1000), b: {} }, { pod: pod('app:v1') }), [48, 0]);
  assert.equal(scores(IMAGE_LOCALITY, everywhere, { pod: pod('other') }), undefined);
  const latest = { a: { images: { 'reg:5000/app:latest': 1000 * MEGABYTE } } };
  assert.deepEqual(scores(IMAGE_LOCALITY, latest, { pod: pod('reg:5000/app') }), [100]);
  const cluster = clusterOf([buildNode('a', withImage(900)), buildNode('b')]);
  cluster.setNode(buildNode('a'));
  assert.equal(cluster.nodesWithImage('app:v1'), 0);
  const unequal = { a: withImage(511.5), b: withImage(900) };
  assert.deepEqual(scores(IMAGE_LOCALITY, unequal, { pod: pod('app:v1') }), [50, 50], 'the first report says the size');
});

test('NodeAffinity: the affinity added by the profile applies to every pod; terms with node names narrow the search', () => {
  const nodes = [buildNode('a', { labels: { pool: 'x' } }), buildNode('b'), buildNode('c', { labels: { pool: 'x' } })];
  const addedAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['x'] }] }],
    },
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 5, preference: { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['c'] }] } },
    ],
  };
  const configuration = configured('NodeAffinity', { addedAffinity });
  const decided = (pod: Pod): string => told(decideFully(clusterOf(nodes), pod, { configuration }));
  assert.equal(decided(buildPod('p')), 'c');
  assert.match(
    decided(buildPod('p', { spec: { nodeSelector: { 'kubernetes.io/hostname': 'b' } } })),
    /1 node\(s\) didn't match scheduler-enforced node affinity, 2 node\(s\) didn't match Pod's node affinity\/selector|2 node\(s\) didn't match Pod's node affinity/,
  );
  const named = (...names: string[]): Pod =>
    buildPod('p', {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: names }] }],
          },
        },
      },
    });
  const cluster = clusterOf([...nodes.slice(0, 1), buildNode('b', { unschedulable: true }), ...nodes.slice(2)]);
  assert.equal(outcome(cluster, named('c')), 'c');
  assert.equal(
    outcome(cluster, named('b')),
    "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. " +
      'preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.',
  );
  assert.match(outcome(cluster, named('gone')), /3 node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]/);
  assert.equal(
    outcome(cluster, named()),
    '0/3 nodes are available: pod affinity terms conflict. ' +
      'preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.',
  );
});

test('[POD-10] the operating system of a pod does not affect scheduling', () => {
  const cluster = clusterOf([buildNode('a', { labels: { 'kubernetes.io/os': 'linux' } })]);
  assert.equal(outcome(cluster, buildPod('p', { spec: { os: { name: 'windows' } } })), 'a');
});
