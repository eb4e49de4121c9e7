import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, TopologySpreadConstraint } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { createPodInfo } from '../domain/pod-info.ts';
import { prepareFilters } from '../domain/prepare-filters.ts';
import { SpreadState } from '../domain/spread-state.ts';
import { neverAsked } from '../framework/asked.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, outcome } from '../testing/cluster.ts';
import {
  type Cluster,
  constraint,
  FOUR,
  HARD,
  incoming,
  matching,
  passing,
  SOFT,
  scores,
  spreadPlugin,
  zoneNode,
} from '../testing/spread.ts';
import { POD_TOPOLOGY_SPREAD, topologyWeight } from './pod-topology-spread.ts';
import { constraintsOf } from './spread-constraints.ts';

/** Constraints that contradict each other here. */
const CONFLICT: Cluster = {
  nodes: [zoneNode('node1', 'zoneA'), zoneNode('node2', 'zoneA'), zoneNode('node3', 'zoneB')],
  pods: ['node1', 'node1', 'node2', 'node3', 'node3'].map((name, i) => matching(`p${i}`, name)),
};

test('[EXS-01] [SPREAD-09] only the zone with fewer pods is allowed', () => {
  const cluster = {
    nodes: [zoneNode('a', 'zone1'), zoneNode('b', 'zone2')],
    pods: [matching('1', 'a'), matching('2', 'a')],
  };
  assert.deepEqual(passing(cluster, incoming([constraint('zone')])), ['b']);
  assert.deepEqual(passing(cluster, incoming([constraint('zone', HARD, 2)])), ['b'], 'zone1 would have a skew of 3');
  assert.deepEqual(passing(cluster, incoming([constraint('zone', HARD, 3)])), ['a', 'b']);
});

test('[DISR-03] [EXS-02] [EXS-03] [EXS-04] [EXS-06] [SPREAD-07] [SPREAD-35] hard constraints over zones, nodes, and both', () => {
  assert.deepEqual(passing(FOUR, incoming([constraint('zone')])), ['node3', 'node4']);
  assert.deepEqual(passing(FOUR, incoming([constraint('zone', HARD, 2)])), ['node1', 'node2', 'node3', 'node4']);
  assert.deepEqual(passing(FOUR, incoming([constraint('node')])), ['node4']);
  assert.deepEqual(passing(FOUR, incoming([constraint('zone'), constraint('node')])), ['node4']);
});

test('[EXS-05] [SPREAD-11] a soft constraint ranks and never refuses', () => {
  const pod = incoming([constraint('zone', SOFT)]);
  // One pod on each node: only the constraint distinguishes them.
  const even = [...FOUR.pods, buildPod('p4', { nodeName: 'node4' })];
  for (let seed = 0; seed < 10; seed++) {
    const best = outcome(clusterOf(FOUR.nodes, even), pod, createSeededRandom(seed, 'ties'));
    assert.ok(['node3', 'node4'].includes(best), best);
  }
  const cordoned = FOUR.nodes.map((each) =>
    each.metadata.labels?.['zone'] === 'zoneB' ? { ...each, spec: { ...each.spec, unschedulable: true } } : each,
  );
  assert.ok(['node1', 'node2'].includes(outcome(clusterOf(cordoned, FOUR.pods), pod)));
});

test('[EXS-07] [EXS-08] [SPREAD-10] [SPREAD-13] contradicting constraints, and their solutions', () => {
  const [zone, each] = [constraint('zone'), constraint('node')];
  assert.deepEqual(passing(CONFLICT, incoming([zone, each])), []);
  assert.equal(
    outcome(clusterOf(CONFLICT.nodes, CONFLICT.pods), incoming([zone, each])),
    "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints. " +
      'preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.',
  );
  assert.deepEqual(passing(CONFLICT, incoming([constraint('zone', HARD, 2), each])), ['node2']);
  assert.deepEqual(passing(CONFLICT, incoming([zone, constraint('node', HARD, 2)])), ['node3']);
  assert.deepEqual(passing(CONFLICT, incoming([constraint('zone', SOFT), each])), ['node2']);
  assert.deepEqual(passing(CONFLICT, incoming([zone, constraint('node', SOFT)])), ['node3']);
});

test('[EXS-12] two constraints that no node satisfies', () => {
  const nodes = [
    zoneNode('node-a', 'zone1'),
    zoneNode('node-b', 'zone1'),
    zoneNode('node-x', 'zone2'),
    zoneNode('node-y', 'zone2'),
  ];
  const on = ['node-a', 'node-a', 'node-b', 'node-y', 'node-y', 'node-y', 'node-y'];
  const pods = on.map((name, i) => matching(`p${i}`, name));
  assert.deepEqual(passing({ nodes, pods }, incoming([constraint('zone'), constraint('node')])), []);
});

test('[EXS-14] [SPREAD-34] the incoming pod counts itself only when it matches', () => {
  const nodes = [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')];
  const pods = ['a', 'a', 'a', 'b', 'b'].map((name, i) => matching(`p${i}`, name));
  assert.deepEqual(passing({ nodes, pods }, incoming([constraint('zone')])), ['b']);
  assert.deepEqual(passing({ nodes, pods }, incoming([constraint('zone')], { other: 'x' })), ['a', 'b']);
});

test('[SPREAD-08] [SPREAD-17] [SPREAD-18] [SPREAD-19] counted pods: own namespace, not terminating, on eligible nodes', () => {
  const nodes = [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')];
  const leaving = matching('leaving', 'a');
  const elsewhere = buildPod('elsewhere', { nodeName: 'a', labels: { foo: 'bar' }, namespace: 'other' });
  const uncounted = [{ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: 'x' } }, elsewhere];
  assert.deepEqual(passing({ nodes, pods: uncounted }, incoming([constraint('zone')])), ['a', 'b']);
  const picky = incoming([constraint('zone')]);
  const onlyA: Pod = { ...picky, spec: { ...picky.spec, nodeSelector: { zone: 'zoneA' } } };
  assert.ok(passing({ nodes, pods: [matching('1', 'a')] }, onlyA).includes('a'), 'zoneB does not exist for this pod');
});

test('[SPREAD-08] an empty selector counts every pod of the namespace, an absent one none', () => {
  const nodes = [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')];
  const labelled = ['a', 'a', 'a'].map((name, i) => matching(`p${i}`, name));
  const bare = buildPod('bare', { nodeName: 'a' });
  const selecting = (labelSelector: NonNullable<TopologySpreadConstraint['labelSelector']> | undefined): Pod => {
    const { topologyKey, whenUnsatisfiable, maxSkew } = constraint('zone');
    return incoming([{ topologyKey, whenUnsatisfiable, maxSkew, ...(labelSelector && { labelSelector }) }]);
  };
  const pods = [...labelled, bare];
  assert.deepEqual(passing({ nodes, pods }, selecting({})), ['b']);
  assert.deepEqual(passing({ nodes, pods: [bare] }, selecting({})), ['b']);
  assert.deepEqual(passing({ nodes, pods }, selecting(undefined)), ['a', 'b']);
  const exists: TopologySpreadConstraint['labelSelector'] = { matchExpressions: [{ key: 'foo', operator: 'Exists' }] };
  assert.deepEqual(passing({ nodes, pods }, selecting(exists)), ['b']);
});

test('[SPREAD-08] [SPREAD-32] a terminating pod does not count, so a trial without it changes nothing', () => {
  const nodes = [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')];
  const leaving = matching('leaving', 'b');
  const pods = [{ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: 'x' } }, matching('stays', 'b')];
  const snapshot = clusterOf(nodes, pods);
  const prepared = spreadPlugin.preFilter?.({ pod: createPodInfo(incoming([constraint('zone')])), snapshot });
  const [a, b] = snapshot.nodes;
  const [gone, stays] = ['leaving', 'stays'].map((name) => snapshot.placed(`uid-default-${name}`));
  assert.ok(prepared?.kind === 'check' && a !== undefined && b !== undefined);
  assert.ok(gone !== undefined && stays !== undefined);
  const fork = prepared.fork?.();
  fork?.adjust(gone, b, -1);
  assert.deepEqual([fork?.check(a), fork?.check(b)?.reasons.length], [undefined, 1], '1 + 1 - 0 in zoneB as before');
  fork?.adjust(stays, b, -1);
  assert.equal(fork?.check(b), undefined, '0 + 1 - 0');
});

test('[SPREAD-06] fewer domains than minDomains make the minimum zero', () => {
  const nodes = [zoneNode('a', 'zoneA')];
  const pods = [matching('1', 'a')];
  assert.deepEqual(passing({ nodes, pods }, incoming([constraint('zone')])), ['a']);
  assert.deepEqual(passing({ nodes, pods }, incoming([{ ...constraint('zone'), minDomains: 2 }])), []);
});

test('[SPREAD-33] [SPREAD-37] a node without the label is refused permanently', () => {
  const cluster = clusterOf([buildNode('bare')]);
  assert.match(
    outcome(cluster, incoming([constraint('zone')])),
    /constraints \(missing required label\)\. preemption: 0\/1 nodes are available: 1 Preemption is not helpful/,
  );
});

test('[EXS-16] [EXS-17] [SPREAD-44] [SPREAD-45] [SPREAD-46] [SPREAD-47] scores of a soft zone constraint', () => {
  assert.deepEqual(scores(FOUR, incoming([constraint('zone', SOFT)])), {
    raw: [3, 3, 1, 1],
    normalized: [33, 33, 100, 100],
  });
  const weighted = [33, 100].map((score) => score * (POD_TOPOLOGY_SPREAD.weight ?? 1));
  assert.deepEqual(weighted, [66, 200]);
  assert.deepEqual(scores(FOUR, incoming([constraint('zone', SOFT, 3)])), {
    raw: [5, 5, 3, 3],
    normalized: [60, 60, 100, 100],
  });
});

test('[EXS-18] [SPREAD-45] zone and host together', () => {
  const pod = incoming([constraint('zone', SOFT), constraint('kubernetes.io/hostname', SOFT)]);
  assert.deepEqual(scores(FOUR, pod), { raw: [5, 5, 3, 1], normalized: [20, 20, 60, 100] });
});

test('[EXS-19] [SPREAD-41] [SPREAD-47] without matching pods all nodes are best, and a node without the label is last', () => {
  const nodes = [...FOUR.nodes, buildNode('bare')];
  assert.deepEqual(
    scores({ nodes, pods: [] }, incoming([constraint('zone', SOFT)])).normalized,
    [100, 100, 100, 100, 0],
  );
});

test('[SPREAD-39] the plugin has weight 2 and takes part in all four steps', () => {
  assert.equal(POD_TOPOLOGY_SPREAD.weight, 2);
  assert.deepEqual(POD_TOPOLOGY_SPREAD.points, ['preFilter', 'filter', 'preScore', 'score']);
});

test('[SPREAD-16] pods on tainted nodes count, unless the constraint honours taints', () => {
  const tainted = buildNode('b', {
    labels: { zone: 'zoneB', node: 'b' },
    taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
  });
  const cluster = { nodes: [zoneNode('a', 'zoneA'), tainted], pods: [matching('1', 'a')] };
  assert.deepEqual(passing(cluster, incoming([constraint('zone')])), ['b'], 'zoneB is there with 0');
  const honors = incoming([{ ...constraint('zone'), nodeTaintsPolicy: 'Honor' }]);
  assert.ok(passing(cluster, honors).includes('a'), 'zoneB does not exist for this pod');
});

const HARD_ONLY = { defaultConstraints: [], systemDefaulted: false };

/** The state of each hard constraint: its two smallest domains and all counts. */
function states({ nodes, pods }: Cluster, pod: Pod): readonly { pair: unknown; counts: Record<string, number> }[] {
  const snapshot = clusterOf(nodes, pods);
  const { constraints } = constraintsOf({ pod: createPodInfo(pod), snapshot }, HARD, HARD_ONLY);
  return constraints.map((each) => {
    const state = new SpreadState(each, snapshot.domainsOf(each.group, each.view));
    const values = new Set(snapshot.nodes.map(({ labels }) => labels[each.topologyKey] ?? ''));
    return {
      pair: state.criticalPaths.map(({ value, count }) => [value, count]),
      counts: Object.fromEntries([...values].map((value) => [value, state.countIn(value)])),
    };
  });
}

test('[SPREAD-26] [SPREAD-27] [SPREAD-29] [EXS-11] PreFilter prepares counts by domain, and the minimum of each key', () => {
  const nodes = [
    zoneNode('node-a', 'zone1'),
    zoneNode('node-b', 'zone1'),
    zoneNode('node-x', 'zone2'),
    zoneNode('node-y', 'zone2'),
  ];
  const on = ['node-a', 'node-a', 'node-b', 'node-y', 'node-y', 'node-y', 'node-y'];
  const pods = on.map((name, i) => buildPod(`p${i}`, { nodeName: name, labels: { foo: '' } }));
  pods.push(buildPod('unrelated', { nodeName: 'node-x', labels: { bar: '' } }));
  const exists = { matchExpressions: [{ key: 'foo', operator: 'Exists' }] };
  const pod = incoming(
    ['zone', 'node'].map((key) => ({ ...constraint(key), labelSelector: exists })),
    { foo: '' },
  );
  const [byZone, byNode] = states({ nodes, pods }, pod);
  assert.deepEqual(byZone?.pair, [
    ['zone1', 3],
    ['zone2', 4],
  ]);
  assert.deepEqual(byZone?.counts, { zone1: 3, zone2: 4 });
  assert.deepEqual(byNode?.pair, [
    ['node-x', 0],
    ['node-b', 1],
  ]);
  assert.deepEqual(byNode?.counts, { 'node-a': 2, 'node-b': 1, 'node-x': 0, 'node-y': 4 });
});

test('[SPREAD-28] nothing to check is skipped; Filter without its PreFilter is an error', () => {
  const cycle = { pod: createPodInfo(incoming([])), snapshot: clusterOf(FOUR.nodes) };
  assert.equal(spreadPlugin.preFilter?.(cycle).kind, 'skip');
  const call = spreadPlugin.preFilter;
  assert.ok(call !== undefined);
  assert.throws(
    () =>
      prepareFilters(cycle, [
        { name: 'PodTopologySpread', call, asked: neverAsked(), local: false, runs: 'filter only' },
      ]),
    /reading "PreFilterPodTopologySpread" from cycleState: not found/,
  );
});

test('[SPREAD-36] constraints are evaluated in their order; a domain without a count has no pods', () => {
  const cluster = clusterOf([buildNode('a', { labels: { node: 'a' } })], [matching('1', 'a'), matching('2', 'a')]);
  const labelFirst = outcome(cluster, incoming([constraint('zone'), constraint('node')]));
  assert.match(labelFirst, /missing required label/);
  const picky = incoming([constraint('zone')]);
  const elsewhere: Pod = { ...picky, spec: { ...picky.spec, nodeSelector: { zone: 'zoneA' } } };
  const nodes = [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')];
  assert.deepEqual(passing({ nodes, pods: [matching('1', 'b'), matching('2', 'b')] }, elsewhere), ['a', 'b']);
});

test('[SPREAD-32] a trial of one node counts additions and removals, on included nodes', () => {
  const snapshot = clusterOf(FOUR.nodes, FOUR.pods);
  const prepared = spreadPlugin.preFilter?.({ pod: createPodInfo(incoming([constraint('zone')])), snapshot });
  assert.ok(prepared?.kind === 'check');
  const [first, , third] = snapshot.nodes;
  assert.ok(first !== undefined && third !== undefined);
  const fork = prepared.fork?.();
  const fits = (): readonly boolean[] => [first, third].map((each) => fork?.check(each) === undefined);
  assert.deepEqual(fits(), [false, true]);
  const other = createPodInfo(matching('x', 'node3'));
  fork?.adjust(other, third, 1);
  assert.deepEqual(fits(), [true, true], 'two and two');
  fork?.adjust(other, third, 1);
  assert.deepEqual(fits(), [true, false], 'two and three');
  fork?.adjust(createPodInfo(buildPod('unrelated', { nodeName: 'node1' })), first, -1);
  assert.deepEqual(fits(), [true, false], 'a pod that the constraint does not select changes nothing');
  const { metadata, spec } = matching('away', 'node1');
  fork?.adjust(createPodInfo({ ...other.pod, metadata: { ...metadata, namespace: 'other' }, spec }), first, 1);
  assert.deepEqual(fits(), [true, false], 'nor does one of another namespace');
  assert.notEqual(prepared.check(first), undefined, 'the origin is as it was');
});

test('[SPREAD-40] without a soft constraint the plugin has no opinion', () => {
  const snapshot = clusterOf(FOUR.nodes, FOUR.pods);
  const scorerOf = (constraints: TopologySpreadConstraint[]) =>
    spreadPlugin.preScore?.({ pod: createPodInfo(incoming(constraints)), snapshot }, snapshot.nodes);
  assert.equal(scorerOf([]), undefined);
  assert.equal(scorerOf([constraint('zone')]), undefined);
  assert.notEqual(scorerOf([constraint('zone', SOFT)]), undefined);
});

test('[EXS-15] the more domains, the higher the weight of one pod of difference', () => {
  const weights = [1, 2, 4, 5000].map((size) => topologyWeight(size).toFixed(4));
  assert.deepEqual(weights, ['1.0986', '1.3863', '1.7918', '8.5176']);
});
