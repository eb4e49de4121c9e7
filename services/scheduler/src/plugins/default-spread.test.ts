import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Service } from '@holdfast/api';
import { compileLabelSelector, type JsonObject } from '@holdfast/machinery';
import type { SchedulerConfiguration } from '../configuration/configuration.ts';
import type { ClusterCache } from '../domain/cluster-cache.ts';
import { createPodInfo } from '../domain/pod-info.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, configured, decide, pluginOf } from '../testing/cluster.ts';
import { decodePodTopologySpreadArgs } from './args/pod-topology-spread-args.ts';
import { POD_TOPOLOGY_SPREAD } from './pod-topology-spread.ts';

const ZONE = 'topology.kubernetes.io/zone';
const LABELS = { app: 'web', 'pod-template-hash': 'x' };

const nodes = ['a', 'b'].map((name) => buildNode(name, { labels: { [ZONE]: `z-${name}` } }));

const service = (name: string, selector: Record<string, string>): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { selector },
  status: { loadBalancer: {} },
});

function withReplicaSet(cluster: ClusterCache, name: string): ClusterCache {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name, namespace: 'default' } };
  cluster.owners.setController(owner, compileLabelSelector({ matchLabels: LABELS }));
  return cluster;
}

/** Returns the nodes of 20 draws. */
function chosen(cluster: ClusterCache, pod: Pod, configuration?: SchedulerConfiguration): readonly string[] {
  const decision = decide(cluster, pod, configuration === undefined ? {} : { configuration });
  return decision.kind === 'place' ? [decision.nodeName] : [];
}

/** Returns the nodes with the highest score. */
function liked(cluster: ClusterCache, pod: Pod, args?: Parameters<typeof pluginOf>[1]): readonly string[] | undefined {
  const cycle = { pod: createPodInfo(pod), snapshot: cluster };
  const scorer = pluginOf(POD_TOPOLOGY_SPREAD, args).preScore?.(cycle, cluster.nodes);
  if (scorer === undefined) return undefined;
  const scores = cluster.nodes.map((node) => scorer.score(node));
  scorer.normalize?.(scores, cluster.nodes);
  return cluster.nodes.filter((_, i) => scores[i] === Math.max(...scores)).map(({ name }) => name);
}

const softZone = {
  defaultConstraints: [{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'ScheduleAnyway' }],
  defaultingType: 'List',
};
const hardZone = {
  ...softZone,
  defaultConstraints: [{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule' }],
};

test('[SPREAD-20] [SPREAD-21] [EXS-09] default constraints spread pods with an owner or service, and only those without their own constraints', () => {
  const cluster = withReplicaSet(
    clusterOf(nodes, [buildPod('1', { nodeName: 'a', owner: 'web', labels: LABELS })]),
    'web',
  );
  const owned = buildPod('p', { owner: 'web', labels: LABELS });
  assert.deepEqual(liked(cluster, owned, softZone), ['b']);
  const soft = pluginOf(POD_TOPOLOGY_SPREAD, softZone);
  assert.equal(soft.preFilter?.({ pod: createPodInfo(owned), snapshot: cluster }).kind, 'skip', 'it refuses no node');
  assert.equal(
    liked(cluster, buildPod('bare', { labels: LABELS }), softZone),
    undefined,
    'a bare pod has no constraint',
  );
  const hard = configured('PodTopologySpread', hardZone);
  const crowded = withReplicaSet(
    clusterOf(
      nodes.map((node) => (node.metadata.name === 'b' ? { ...node, spec: { unschedulable: true } } : node)),
      [buildPod('1', { nodeName: 'a', owner: 'web', labels: LABELS })],
    ),
    'web',
  );
  assert.deepEqual(chosen(crowded, owned, hard), [], 'a hard default keeps the pod waiting');
  assert.deepEqual(chosen(crowded, buildPod('bare', { labels: LABELS }), hard), ['a']);
});

test('[SPREAD-21] [SPREAD-22] [EXS-09] a pod with any own constraint gets no default of either kind', () => {
  const cluster = withReplicaSet(
    clusterOf(nodes, [buildPod('1', { nodeName: 'a', owner: 'web', labels: LABELS })]),
    'web',
  );
  const own = {
    maxSkew: 9,
    topologyKey: ZONE,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: LABELS },
  };
  const pod = buildPod('p', { owner: 'web', labels: LABELS, spec: { topologySpreadConstraints: [own] } });
  assert.equal(liked(cluster, pod, softZone), undefined);
  const soft = buildPod('p', {
    owner: 'web',
    labels: LABELS,
    spec: { topologySpreadConstraints: [{ ...own, whenUnsatisfiable: 'ScheduleAnyway' }] },
  });
  const cycle = { pod: createPodInfo(soft), snapshot: cluster };
  assert.equal(pluginOf(POD_TOPOLOGY_SPREAD, hardZone).preFilter?.(cycle).kind, 'skip');
});

test('[SPREAD-23] the selector combines all services of the pod and its controller', () => {
  const placed = [
    buildPod('1', { nodeName: 'a', labels: { app: 'web', tier: 'front' } }),
    buildPod('2', { nodeName: 'b', labels: { app: 'web', tier: 'back' } }),
    buildPod('3', { nodeName: 'b', labels: { app: 'web', tier: 'back' } }),
  ];
  const cluster = clusterOf(nodes, placed);
  const pod = createPodInfo(buildPod('p', { labels: { app: 'web', tier: 'front' } }));
  assert.equal(cluster.owners.selectorFor(pod), undefined);
  cluster.owners.setService(service('all', { app: 'web' }));
  assert.equal(cluster.owners.selectorFor(pod)?.text, 'app=web');
  cluster.owners.setService(service('front', { tier: 'front' }));
  cluster.owners.setService(service('other', { tier: 'back' }));
  cluster.owners.setService(service('both', { app: 'web', tier: 'back' }));
  cluster.owners.setService(service('none', {}));
  assert.equal(cluster.owners.selectorFor(pod)?.text, 'app=web,tier=front');
  assert.deepEqual(liked(cluster, pod.pod, softZone), ['b'], 'only the pods that all selectors match count');
  cluster.owners.removeService(service('front', { tier: 'front' }));
  assert.deepEqual(liked(cluster, pod.pod, softZone), ['a']);
  const owned = createPodInfo(buildPod('p', { owner: 'web', labels: { ...LABELS, tier: 'front' } }));
  withReplicaSet(cluster, 'web');
  assert.equal(cluster.owners.selectorFor(owned)?.text, 'app=web,app=web,pod-template-hash=x');
});

test('[SPREAD-25] the built-in defaults are two soft constraints, over hosts and over zones', () => {
  const soft = { whenUnsatisfiable: 'ScheduleAnyway' };
  const builtIn = {
    defaultConstraints: [
      { ...soft, topologyKey: 'kubernetes.io/hostname', maxSkew: 3 },
      { ...soft, topologyKey: ZONE, maxSkew: 5 },
    ],
    systemDefaulted: true,
  };
  assert.deepEqual(decodePodTopologySpreadArgs(undefined), builtIn);
  const args = { defaultingType: 'System' };
  assert.deepEqual(decodePodTopologySpreadArgs({ args, path: 'args', errors: [] }), builtIn);
});

test('[SPREAD-26] [SPREAD-40] the filter takes the hard default constraints only, the score the soft ones', () => {
  const cluster = withReplicaSet(
    clusterOf(nodes, [buildPod('1', { nodeName: 'a', owner: 'web', labels: LABELS })]),
    'web',
  );
  const owned = buildPod('p', { owner: 'web', labels: LABELS });
  const cycle = { pod: createPodInfo(owned), snapshot: cluster };
  const filtered = (args: JsonObject) => pluginOf(POD_TOPOLOGY_SPREAD, args).preFilter?.(cycle);
  assert.equal(filtered(softZone)?.kind, 'skip');
  const hard = filtered(hardZone);
  assert.ok(hard?.kind === 'check');
  assert.deepEqual(
    cluster.nodes.map((node) => hard.check(node) === undefined),
    [false, true],
  );
  assert.equal(liked(cluster, owned, hardZone), undefined);
  assert.deepEqual(liked(cluster, owned, softZone), ['b']);
});

test('[SPREAD-45] a constraint whose key the node lacks adds nothing to its score', () => {
  const placed = ['a', 'a', 'b'].map((nodeName, i) => buildPod(`${i}`, { nodeName, owner: 'web', labels: LABELS }));
  const cluster = withReplicaSet(clusterOf([...nodes, buildNode('c')], placed), 'web');
  const cycle = { pod: createPodInfo(buildPod('p', { owner: 'web', labels: LABELS })), snapshot: cluster };
  const scorer = pluginOf(POD_TOPOLOGY_SPREAD).preScore?.(cycle, cluster.nodes);
  // Hosts weigh ln 5 and add 2, zones (two, and nodes without one) weigh ln 5 and add 4.
  assert.deepEqual(
    cluster.nodes.map((node) => scorer?.score(node)),
    [12, 9, 2],
  );
});

test('[SPREAD-25] the built-in defaults score nodes without a zone too; an empty list turns defaulting off', () => {
  const mixed = [...nodes, buildNode('c')];
  const placed = ['a', 'a', 'b'].map((nodeName, i) => buildPod(`${i}`, { nodeName, owner: 'web', labels: LABELS }));
  const cluster = withReplicaSet(clusterOf(mixed, placed), 'web');
  const owned = buildPod('p', { owner: 'web', labels: LABELS });
  assert.deepEqual(liked(cluster, owned), ['c']);
  assert.deepEqual(liked(cluster, owned, softZone), ['b'], 'of a list, a node without the label is last');
  assert.equal(liked(cluster, owned, { defaultConstraints: [], defaultingType: 'List' }), undefined);
});
