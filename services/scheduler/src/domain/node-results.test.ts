import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import { buildNode, buildPod, type PodShape } from '../testing/builders.ts';
import { clusterOf, decide as decideOn, deciderFor, outcome, profileFor } from '../testing/cluster.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { createPodInfo, refreshPodInfo } from './pod-info.ts';
import { type Decision, schedule } from './schedule.ts';

const ZONE = 'topology.kubernetes.io/zone';
const NODES = 1_000;
const PODS = 300;

const largeCluster = (): ClusterCache =>
  clusterOf(Array.from({ length: NODES }, (_, i) => buildNode(`n${i}`, { labels: { [ZONE]: `z${i % 3}` } })));

/** Places pods one by one as the scheduler does. */
function placeAll(cluster: ClusterCache, shapes: readonly PodShape[]): void {
  const profile = profileFor(cluster);
  const random = createSeededRandom(1, 'ties');
  let startAt = 0;
  for (const [i, shape] of shapes.entries()) {
    const pod = createPodInfo(buildPod(`p${cluster.sizes().pods}-${i}`, shape));
    const decision = schedule(cluster, pod, { profile, random, startAt });
    assert.equal(decision.kind, 'place');
    if (decision.kind !== 'place') return;
    startAt = (startAt + decision.looked) % NODES;
    cluster.assume(pod, decision.nodeName);
  }
}

const repeated = (shape: PodShape, count = PODS): readonly PodShape[] => Array.from({ length: count }, () => shape);

test('equal pods evaluate each node once, and then only changed nodes', () => {
  const cluster = largeCluster();
  placeAll(cluster, repeated({ cpu: '100m', memory: '64Mi' }));
  const { checks, scores } = cluster.work();
  assert.ok(checks <= NODES + PODS, `${checks} checks of ${NODES} nodes for ${PODS} pods`);
  assert.ok(scores <= NODES + PODS, `${scores} scores`);
});

test('pods that differ only in name, labels and pod affinity share results about nodes', () => {
  const cluster = largeCluster();
  placeAll(
    cluster,
    Array.from({ length: PODS }, (_, i) => ({ cpu: '100m', labels: { app: `a${i}` } })),
  );
  const { checks } = cluster.work();
  assert.ok(checks <= NODES + PODS, `${checks} checks`);
});

test('scheduled pods are counted once per constraint, for all decisions', () => {
  const cluster = largeCluster();
  const labelSelector = { matchLabels: { app: 'a' } };
  const spread = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
  const anti = { topologyKey: 'kubernetes.io/hostname', labelSelector };
  const shape: PodShape = {
    labels: { app: 'a' },
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [anti] } },
    spec: { topologySpreadConstraints: [spread] },
  };
  placeAll(cluster, repeated(shape));
  const { recounts } = cluster.work();
  placeAll(cluster, repeated(shape));
  assert.ok(recounts <= 4, `${recounts} recounts`);
  assert.equal(cluster.work().recounts, recounts);
});

test('a binding observed as assumed changes nothing', () => {
  const cluster = largeCluster();
  const pod = buildPod('p', { cpu: '1', labels: { app: 'a' } });
  const waiting = createPodInfo(pod);
  cluster.assume(waiting, 'n1');
  const changes = cluster.node('n1')?.changes;
  const bound = { ...pod, spec: { ...pod.spec, nodeName: 'n1' } };
  assert.deepEqual(cluster.setPod(refreshPodInfo(cluster.placed(waiting.uid), bound)), []);
  assert.equal(cluster.node('n1')?.changes, changes);
  assert.equal(cluster.isAssumed(waiting.uid), false);
  assert.equal(cluster.placed(waiting.uid)?.pod, bound);
  const elsewhere = { ...pod, spec: { ...pod.spec, nodeName: 'n2' } };
  cluster.setPod(refreshPodInfo(cluster.placed(waiting.uid), elsewhere));
  assert.deepEqual([cluster.node('n1')?.pods.size, cluster.node('n2')?.pods.size], [0, 1]);
});

test('unschedulable pods evaluate no node again until one changes', () => {
  const cluster = clusterOf(Array.from({ length: NODES }, (_, i) => buildNode(`n${i}`, { cpu: '1' })));
  const decide = deciderFor(cluster);
  for (let i = 0; i < 20; i++) void decide(createPodInfo(buildPod(`p${i}`, { cpu: '2' })));
  assert.equal(cluster.work().checks, NODES);
  cluster.setNode(buildNode('n7', { cpu: '2' }));
  const decided = decide(createPodInfo(buildPod('last', { cpu: '2' })));
  assert.deepEqual(decided, { kind: 'place', nodeName: 'n7', waits: [] });
  assert.equal(cluster.work().checks, NODES + 1);
});

const changeArbitrary = fc.oneof(
  fc.record({
    kind: fc.constant('pod' as const),
    cpu: fc.constantFrom('250m', '1', '3'),
    app: fc.constantFrom('a', 'b'),
    /** Requests only resources. */
    plain: fc.boolean(),
    priority: fc.nat(1),
  }),
  fc.record({ kind: fc.constant('leave' as const) }),
  fc.record({ kind: fc.constant('gone' as const), node: fc.nat(3) }),
  fc.record({
    kind: fc.constant('node' as const),
    node: fc.nat(3),
    cpu: fc.constantFrom('1', '4'),
    zone: fc.constantFrom('z1', 'z2', undefined),
    unschedulable: fc.boolean(),
    taint: fc.boolean(),
  }),
);
type Change = typeof changeArbitrary extends fc.Arbitrary<infer T> ? T : never;

function shapeOf({ cpu, app, plain, priority }: Omit<Extract<Change, { kind: 'pod' }>, 'kind'>): PodShape {
  if (plain) return { cpu, labels: { app }, spec: { priority } };
  const labelSelector = { matchLabels: { app } };
  const spread = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
  const near = { weight: 5, podAffinityTerm: { topologyKey: ZONE, labelSelector } };
  return {
    cpu,
    labels: { app },
    affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [near] } },
    spec: { topologySpreadConstraints: [spread] },
  };
}

function nodeOf(change: Extract<Change, { kind: 'node' }>) {
  const { node, cpu, zone, unschedulable, taint } = change;
  return buildNode(`n${node}`, {
    cpu,
    unschedulable,
    labels: zone === undefined ? {} : { [ZONE]: zone },
    taints: taint ? [{ key: 'k', effect: 'NoSchedule' }] : [],
  });
}

/** Builds the same cluster from scratch. */
function freshCopy(cluster: ClusterCache): ClusterCache {
  const placed = [...cluster.placedPods()].map(({ pod, nodeName }) => ({ ...pod, spec: { ...pod.spec, nodeName } }));
  return clusterOf(
    cluster.nodes.map(({ node }) => node),
    placed,
  );
}

function apply(cluster: ClusterCache, change: Change, decideOn: (shape: PodShape) => void): void {
  if (change.kind === 'pod') decideOn(shapeOf(change));
  if (change.kind === 'gone') cluster.removeNode(`n${change.node}`);
  if (change.kind === 'node') cluster.setNode(nodeOf(change));
  if (change.kind !== 'leave') return;
  const [first] = cluster.placedPods();
  if (first !== undefined) cluster.removePod(first.uid);
}

test('an unschedulable pod gets the result of equal pods, until a node changes', () => {
  const cluster = clusterOf(['a', 'b'].map((name) => buildNode(name, { cpu: '1' })));
  const refused = (name: string) => {
    const decision = decideOn(cluster, buildPod(name, { cpu: '2' }));
    assert.ok(decision.kind === 'refuse');
    return decision.rejections;
  };
  const first = refused('p1');
  assert.equal(first.size, 2);
  assert.equal(refused('p2'), first);
  const before = outcome(cluster, buildPod('p3', { cpu: '2' }));
  assert.match(before, /^0\/2 nodes are available: 2 Insufficient cpu\. preemption: 0\/2 nodes are available: 2 No/);
  cluster.removeNode('b');
  assert.match(outcome(cluster, buildPod('p3', { cpu: '2' })), /^0\/1 nodes are available: 1 Insufficient cpu\. pre/);
  cluster.setNode(buildNode('b', { cpu: '2' }));
  assert.equal(outcome(cluster, buildPod('p3', { cpu: '2' })), 'b');
});

test('a node that moves to another zone moves its pods in every count', () => {
  const zoned = (name: string, zone: string) => buildNode(name, { labels: { [ZONE]: zone } });
  const shape = shapeOf({ cpu: '250m', app: 'a', plain: false, priority: 0 });
  const cluster = clusterOf([zoned('a', 'z1'), zoned('b', 'z2')], [buildPod('p0', { ...shape, nodeName: 'a' })]);
  const next = (): Decision =>
    schedule(cluster, createPodInfo(buildPod('p1', shape)), {
      profile: profileFor(cluster),
      random: createSeededRandom(1, 'ties'),
    });
  assert.deepEqual(next(), { kind: 'place', nodeName: 'b', looked: 2 });
  cluster.setNode(zoned('c', 'z1'));
  cluster.setNode(zoned('a', 'z2'));
  assert.deepEqual(next(), { kind: 'place', nodeName: 'c', looked: 3 }, 'z2 has the pod now');
});

test('decisions with cached results equal those without them', () => {
  fc.assert(
    fc.property(fc.array(changeArbitrary, { maxLength: 30 }), (changes) => {
      const cluster = clusterOf([]);
      const decide = (at: ClusterCache, shape: PodShape, name: string): Decision =>
        schedule(at, createPodInfo(buildPod(name, shape)), {
          profile: profileFor(at),
          random: createSeededRandom(1, 'ties'),
        });
      for (const [i, change] of changes.entries()) {
        apply(cluster, change, (shape) => {
          const [kept, fresh] = [decide(cluster, shape, `p${i}`), decide(freshCopy(cluster), shape, `p${i}`)];
          assert.deepEqual(withoutFilters(kept), withoutFilters(fresh));
          const whole = (at: ClusterCache): string => outcome(at, buildPod(`p${i}`, shape));
          // Runs twice, with preemption: the second pod gets the shared result of the first.
          for (const at of [cluster, cluster]) assert.equal(whole(at), whole(freshCopy(cluster)));
          if (kept.kind === 'place') cluster.assume(createPodInfo(buildPod(`p${i}`, shape)), kept.nodeName);
        });
      }
    }),
    { numRuns: 500 },
  );
});

const withoutFilters = (decision: Decision) => ({ ...decision, filters: undefined, results: undefined });
