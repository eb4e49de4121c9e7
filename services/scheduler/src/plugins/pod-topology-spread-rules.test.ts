import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod, TopologySpreadConstraint } from '@holdfast/api';
import { createPodInfo, type PodInfo } from '../domain/pod-info.ts';
import { type EventKind, type EventSubjects, helps } from '../framework/plugin.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, decideFully } from '../testing/cluster.ts';
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

/** A matching pod for each of these nodes. */
const matchingOn = (...nodeNames: readonly string[]): readonly Pod[] =>
  nodeNames.map((nodeName, i) => matching(`p${i}`, nodeName));

const withSelector = (pod: Pod, nodeSelector: Readonly<Record<string, string>>): Pod => ({
  ...pod,
  spec: { ...pod.spec, nodeSelector },
});

const labelled = (name: string, labels: Readonly<Record<string, string>>): Node => buildNode(name, { labels });

test('[SPREAD-06] an absent nodeAffinityPolicy honors the selector of the pod, Ignore counts every node', () => {
  const cluster = { nodes: [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')], pods: matchingOn('a') };
  const passes = (changes: Partial<TopologySpreadConstraint>): readonly string[] =>
    passing(cluster, withSelector(incoming([{ ...constraint('zone'), ...changes }]), { zone: 'zoneA' }));
  assert.ok(passes({}).includes('a'), 'zoneB does not exist for this pod');
  assert.ok(passes({ nodeAffinityPolicy: 'Honor' }).includes('a'));
  assert.deepEqual(passes({ nodeAffinityPolicy: 'Ignore' }), ['b'], 'zoneB is there with 0');
});

test('[SPREAD-06] [SPREAD-16] taints matter only with nodeTaintsPolicy Honor, and only those that the pod does not tolerate', () => {
  const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' }];
  const tainted = buildNode('b', { labels: { zone: 'zoneB' }, taints });
  const passes = (changes: Partial<TopologySpreadConstraint>, spec: Partial<Pod['spec']> = {}): readonly string[] => {
    const pod = incoming([{ ...constraint('zone'), ...changes }]);
    const cluster = { nodes: [zoneNode('a', 'zoneA'), tainted], pods: matchingOn('a') };
    return passing(cluster, { ...pod, spec: { ...pod.spec, ...spec } });
  };
  assert.deepEqual(passes({}), ['b']);
  assert.deepEqual(passes({ nodeTaintsPolicy: 'Ignore' }), ['b']);
  assert.ok(passes({ nodeTaintsPolicy: 'Honor' }).includes('a'));
  const tolerations = [{ key: 'k', operator: 'Exists' }];
  assert.deepEqual(passes({ nodeTaintsPolicy: 'Honor' }, { tolerations }), ['b']);
});

test('[SPREAD-16] matching pods on a tainted node count', () => {
  const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' }];
  const nodes = [buildNode('a', { labels: { zone: 'zoneA' }, taints }), zoneNode('b', 'zoneB')];
  assert.deepEqual(passing({ nodes, pods: matchingOn('a') }, incoming([constraint('zone')])), ['b']);
});

test('[SPREAD-06] matchLabelKeys add the values of the incoming pod to the selector', () => {
  const revision = (hash: string, nodeName: string): Pod => buildPod(hash, { nodeName, labels: { foo: 'bar', hash } });
  const cluster = { nodes: [zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')], pods: [revision('old', 'a')] };
  const passes = (matchLabelKeys: string[]): readonly string[] =>
    passing(cluster, incoming([{ ...constraint('zone'), matchLabelKeys }], { foo: 'bar', hash: 'new' }));
  assert.deepEqual(passes([]), ['b']);
  assert.deepEqual(passes(['hash']), ['a', 'b']);
});

test('[SPREAD-07] nodes with equal values share a domain; a node without the key is in none', () => {
  const nodes = [...FOUR.nodes, labelled('bare', {}), labelled('bare2', {})];
  const pods = [...FOUR.pods, matching('x', 'bare')];
  assert.deepEqual(passing({ nodes, pods }, incoming([constraint('zone', HARD, 2)])), [
    'node1',
    'node2',
    'node3',
    'node4',
  ]);
  assert.deepEqual(passing({ nodes, pods }, incoming([constraint('zone')])), ['node3', 'node4']);
});

/** Three zones of one node each with 3, 2 and 1 matching pods. */
const THREE: Cluster = {
  nodes: ['1', '2', '3'].map((i) => zoneNode(`n${i}`, `zone${i}`)),
  pods: matchingOn('n1', 'n1', 'n1', 'n2', 'n2', 'n3'),
};

test('[SPREAD-09] the skew is measured from the minimum of all domains, including its own', () => {
  assert.deepEqual(passing(THREE, incoming([constraint('zone')])), ['n3']);
  assert.deepEqual(passing(THREE, incoming([constraint('zone', HARD, 2)])), ['n2', 'n3']);
  assert.deepEqual(passing(THREE, incoming([constraint('zone', HARD, 3)])), ['n1', 'n2', 'n3']);
});

test('[SPREAD-12] any failed constraint, at any position in the list, refuses the node', () => {
  const [zone, node] = [constraint('zone'), constraint('node')];
  for (const constraints of [
    [zone, node],
    [node, zone],
  ]) {
    assert.deepEqual(passing(FOUR, incoming(constraints)), ['node4']);
  }
  const loose = constraint('zone', HARD, 5);
  assert.deepEqual(passing(FOUR, incoming([loose, node])), ['node4']);
  assert.deepEqual(passing(FOUR, incoming([zone, constraint('node', HARD, 5)])), ['node3', 'node4']);
});

test('[SPREAD-13] a refused pod is retried after every change that may make a node fit', () => {
  const waiting = createPodInfo(incoming([constraint('zone')]));
  const [node] = clusterOf([zoneNode('a', 'zoneA')]).nodes;
  assert.ok(node !== undefined);
  const wakes = <K extends EventKind>(kind: K, about: EventSubjects[K]): boolean =>
    helps(spreadPlugin.wakesOn ?? {}, kind, waiting, about);
  assert.ok(wakes('node-added', node), 'a node came');
  assert.ok(wakes('node-removed', node), 'a node went');
  assert.ok(wakes('node-labels', node), 'labels of a node changed');
  assert.ok(wakes('node-taints', node), 'taints of a node changed');
  const like = createPodInfo(matching('x', 'a'));
  const other = createPodInfo(buildPod('x', { nodeName: 'a' }));
  const elsewhere: PodInfo = { ...like, namespace: 'other' };
  assert.deepEqual(
    [like, other, elsewhere].map((pod) => wakes('pod-placed', pod)),
    [true, false, false],
  );
  assert.deepEqual(
    [like, other, elsewhere].map((pod) => wakes('pod-removed', pod)),
    [true, false, false],
  );
  assert.deepEqual(
    [like, other, elsewhere].map((pod) => wakes('pod-labels', pod)),
    [true, true, false],
    'the labels from before may have matched',
  );
});

const SSD = { disk: 'ssd' };
/** Both zones have a node with an SSD; the other node of zoneA has two matching pods. */
const DISKS: Cluster = {
  nodes: [
    labelled('a1', { zone: 'zoneA', ...SSD }),
    labelled('a2', { zone: 'zoneA', disk: 'hdd' }),
    labelled('b1', { zone: 'zoneB', ...SSD }),
  ],
  pods: matchingOn('a2', 'a2', 'b1'),
};

test('[SPREAD-18] [SPREAD-19] pods on ineligible nodes do not count for their zone', () => {
  const pod = withSelector(incoming([constraint('zone')]), SSD);
  assert.ok(passing(DISKS, pod).includes('a1'), '0 + 1 - 0');
  assert.ok(!passing(DISKS, pod).includes('b1'), '1 + 1 - 0');
  assert.deepEqual(passing(DISKS, incoming([constraint('zone')])), ['b1']);
});

test('[SPREAD-17] [SPREAD-19] pods on a node that lacks the key of another constraint do not count', () => {
  const nodes = [
    labelled('a1', { zone: 'zoneA', rack: 'r1' }),
    labelled('a2', { zone: 'zoneA' }),
    labelled('b1', { zone: 'zoneB', rack: 'r2' }),
  ];
  const both = incoming([constraint('zone'), constraint('rack')]);
  assert.deepEqual(passing({ nodes, pods: matchingOn('a2', 'a2', 'b1') }, both), ['a1']);
});

test('[SPREAD-18] a zone with only ineligible nodes is not the minimum', () => {
  const nodes = [...DISKS.nodes, labelled('c1', { zone: 'zoneC', disk: 'hdd' })];
  const pods = matchingOn('a1', 'b1');
  const pod = withSelector(incoming([constraint('zone')]), SSD);
  assert.deepEqual(passing({ nodes, pods }, pod).slice(0, 3), ['a1', 'a2', 'b1']);
});

test('[SPREAD-29] a zone without matching pods is the minimum', () => {
  const nodes = [...THREE.nodes, zoneNode('n4', 'zone4')];
  assert.deepEqual(passing({ nodes, pods: THREE.pods }, incoming([constraint('zone')])), ['n4']);
});

test('[SPREAD-32] a pod added to or removed from an excluded node changes no count', () => {
  const snapshot = clusterOf(DISKS.nodes, DISKS.pods);
  const pod = createPodInfo(withSelector(incoming([constraint('zone')]), SSD));
  const prepared = spreadPlugin.preFilter?.({ pod, snapshot });
  assert.ok(prepared?.kind === 'check');
  const fork = prepared.fork?.();
  const [a1, a2] = snapshot.nodes;
  assert.ok(fork !== undefined && a1 !== undefined && a2 !== undefined);
  for (let i = 0; i < 3; i++) fork.adjust(createPodInfo(matching(`t${i}`, 'a2')), a2, 1);
  assert.equal(fork.check(a1), undefined);
  for (let i = 0; i < 2; i++) fork.adjust(createPodInfo(matching(`u${i}`, 'a1')), a1, 1);
  assert.notEqual(fork.check(a1), undefined);
});

test('[SPREAD-35] preemption can help a node with too much skew, but not one without the label', () => {
  const victim = matching('victim', 'a');
  const nodes = [zoneNode('a', 'zoneA'), buildNode('b', { labels: { zone: 'zoneB' }, unschedulable: true })];
  const pod = incoming([constraint('zone')]);
  const decided = decideFully(clusterOf(nodes, [victim]), { ...pod, spec: { ...pod.spec, priority: 5 } });
  assert.ok(decided.kind === 'refuse' && decided.preemption.kind === 'preempt', 'the victim makes the zones even');
  assert.deepEqual(
    decided.preemption.candidate.victims.map(({ name }) => name),
    ['victim'],
  );
});

/** `a` shares its rack with `b`, which has two matching pods, and lacks a zone. */
const RACKS: Cluster = {
  nodes: [
    labelled('a', { rack: 'r1' }),
    labelled('b', { rack: 'r1', zone: 'z1' }),
    labelled('c', { rack: 'r2', zone: 'z1' }),
  ],
  pods: matchingOn('b', 'b'),
};

test('[SPREAD-36] the first failed constraint gives the reason', () => {
  const snapshot = clusterOf(RACKS.nodes, RACKS.pods);
  const reasonAtA = (...keys: readonly string[]): string => {
    const pod = createPodInfo(incoming(keys.map((key) => constraint(key))));
    const prepared = spreadPlugin.preFilter?.({ pod, snapshot });
    const [a] = snapshot.nodes;
    assert.ok(prepared?.kind === 'check' && a !== undefined);
    return prepared.check(a)?.reasons[0] ?? '';
  };
  assert.match(reasonAtA('rack', 'zone'), /constraints$/);
  assert.match(reasonAtA('zone', 'rack'), /\(missing required label\)$/);
});

test('[SPREAD-26] a selector that cannot be parsed fails the attempt', () => {
  const matchExpressions = [{ key: 'foo', operator: 'Nearly', values: ['bar'] }];
  for (const action of [HARD, SOFT]) {
    const pod = incoming([{ ...constraint('zone', action), labelSelector: { matchExpressions } }]);
    const decided = decideFully(clusterOf(FOUR.nodes, FOUR.pods), pod);
    assert.ok(decided.kind === 'error');
    assert.match(decided.message, /"Nearly" is not a valid label selector operator/);
  }
});

test('[SPREAD-36] in a trial a zone without a count has no pods either', () => {
  const snapshot = clusterOf([zoneNode('a', 'zoneA'), zoneNode('b', 'zoneB')], matchingOn('a', 'b', 'b'));
  const pod = createPodInfo(withSelector(incoming([constraint('zone')]), { zone: 'zoneA' }));
  const prepared = spreadPlugin.preFilter?.({ pod, snapshot });
  const [a, b] = snapshot.nodes;
  assert.ok(prepared?.kind === 'check' && a !== undefined && b !== undefined);
  const fork = prepared.fork?.();
  fork?.adjust(createPodInfo(matching('p0', 'a')), a, -1);
  assert.equal(fork?.check(b), undefined, '0 + 1 - 0');
});

test('[SPREAD-41] [SPREAD-45] a node that lacks one key is ignored: 0, however many pods it has for the other key', () => {
  const nodes = [labelled('a', { zone: 'z1', rack: 'r1' }), labelled('b', { zone: 'z1' })];
  const pod = incoming([constraint('zone', SOFT), constraint('rack', SOFT, 4)]);
  const { raw, normalized } = scores({ nodes, pods: matchingOn('a', 'a') }, pod);
  // 2 pods in the only zone and the only rack: 2 ln 3 + 0 + 2 ln 3 + 3.
  assert.deepEqual(
    [raw, normalized],
    [
      [7, 0],
      [100, 0],
    ],
  );
});

test('[SPREAD-42] only zones of feasible nodes determine the weight', () => {
  const pod = incoming([constraint('zone', SOFT)]);
  assert.deepEqual(scores(THREE, pod).raw, [5, 3, 2], 'three zones: ln 5');
  assert.deepEqual(scores(THREE, pod, ['n1', 'n2']).raw, [4, 3], 'two zones: ln 4');
});

test('[SPREAD-42] [SPREAD-45] for hosts the pods of the node itself count, whatever its label', () => {
  const host = 'kubernetes.io/hostname';
  const nodes = ['a', 'b'].map((name) => labelled(name, { [host]: 'same' }));
  const cluster = { nodes, pods: matchingOn('a', 'a') };
  assert.deepEqual(scores(cluster, incoming([constraint(host, SOFT)])).raw, [3, 0], 'two nodes: ln 4');
  assert.deepEqual(scores(cluster, incoming([constraint(host, SOFT, 3)])).raw, [5, 2], '+ maxSkew - 1');
});

test('[SPREAD-43] pods of a zone count on all nodes, unless their node is excluded', () => {
  const pod = incoming([constraint('zone', SOFT)]);
  assert.deepEqual(scores(DISKS, pod, ['a1', 'b1']).raw, [3, 1], 'a2 is not feasible and counts');
  assert.deepEqual(scores(DISKS, withSelector(pod, SSD), ['a1', 'b1']).raw, [0, 1], 'a2 may not be used');
  const both = incoming([constraint('zone', SOFT), constraint('rack', SOFT)]);
  const racked = DISKS.nodes.map(({ metadata: { name = '', labels } }) =>
    labelled(name, { ...labels, ...(name === 'a2' ? {} : { rack: 'r' }) }),
  );
  const { raw } = scores({ nodes: racked, pods: matchingOn('a2', 'a2', 'a2', 'a2') }, both, ['a1', 'b1']);
  assert.deepEqual(raw, [0, 0], 'a2 lacks the rack');
});

test('[SPREAD-47] the best score is truncated, and an ignored node is not the minimum', () => {
  const nodes = [...THREE.nodes, labelled('bare', {})];
  const pods = matchingOn('n1', 'n1', 'n2', 'n3');
  const { raw, normalized } = scores({ nodes, pods }, incoming([constraint('zone', SOFT)]));
  assert.deepEqual(raw, [3, 2, 2, 0]);
  assert.deepEqual(normalized, [66, 100, 100, 0]);
});
