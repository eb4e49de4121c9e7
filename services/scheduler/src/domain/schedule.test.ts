import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, decide, outcome } from '../testing/cluster.ts';
import { createPodInfo } from './pod-info.ts';
import { feasibleToFind } from './search-nodes.ts';

const ZONE = 'topology.kubernetes.io/zone';

const nodeArbitrary = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  pods: fc.integer({ min: 1, max: 4 }),
  zone: fc.constantFrom('z1', 'z2', undefined),
  taint: fc.constantFrom(undefined, 'x', 'y'),
  unschedulable: fc.boolean(),
  disk: fc.constantFrom('ssd', 'hdd'),
});
const podArbitrary = fc.record({
  cpu: fc.constantFrom('250m', '1', '2'),
  app: fc.constantFrom('a', 'b'),
  tolerates: fc.constantFrom(undefined, 'x', '*'),
  disk: fc.constantFrom(undefined, 'ssd'),
  anti: fc.boolean(),
  near: fc.boolean(),
  spread: fc.constantFrom(undefined, 1, 2),
  minDomains: fc.constantFrom(undefined, 2, 3),
  honorsTaints: fc.boolean(),
  port: fc.boolean(),
  /** An earlier placed pod leaves first. */
  leaves: fc.boolean(),
});
type NodeCase = typeof nodeArbitrary extends fc.Arbitrary<infer T> ? T : never;
type PodCase = typeof podArbitrary extends fc.Arbitrary<infer T> ? T : never;

function nodeFor(shape: NodeCase, i: number): Node {
  return buildNode(`n${i}`, {
    cpu: String(shape.cpu),
    pods: shape.pods,
    unschedulable: shape.unschedulable,
    labels: { disk: shape.disk, ...(shape.zone === undefined ? {} : { [ZONE]: shape.zone }) },
    taints: shape.taint === undefined ? [] : [{ key: 'k', value: shape.taint, effect: 'NoSchedule' }],
  });
}

function podFor(shape: PodCase, name: string): Pod {
  const labelSelector = { matchLabels: { app: shape.app } };
  const anti = { topologyKey: 'kubernetes.io/hostname', labelSelector };
  const near = { topologyKey: ZONE, labelSelector };
  const ports = shape.port ? [{ containerPort: 80, hostPort: 80 }] : [];
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: shape.cpu } }, ports }];
  return buildPod(name, {
    labels: { app: shape.app },
    affinity: {
      ...(shape.anti ? { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [anti] } } : {}),
      ...(shape.near ? { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near] } } : {}),
    },
    spec: {
      containers,
      ...(shape.disk === undefined ? {} : { nodeSelector: { disk: shape.disk } }),
      ...(shape.tolerates === undefined
        ? {}
        : {
            tolerations: [
              shape.tolerates === '*'
                ? { operator: 'Exists' }
                : { key: 'k', value: shape.tolerates, operator: 'Equal' },
            ],
          }),
      ...(shape.spread === undefined
        ? {}
        : {
            topologySpreadConstraints: [
              {
                maxSkew: shape.spread,
                topologyKey: ZONE,
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector,
                ...(shape.minDomains === undefined ? {} : { minDomains: shape.minDomains }),
                nodeTaintsPolicy: shape.honorsTaints ? 'Honor' : 'Ignore',
              },
            ],
          }),
    },
  });
}

interface Placed {
  readonly shape: PodCase;
  readonly node: number;
  readonly uid: string;
}

const millis = (shape: PodCase): number => ({ '250m': 250, '1': 1000, '2': 2000 })[shape.cpu] ?? 0;

const naivelyTolerates = (pod: PodCase, { taint }: NodeCase): boolean =>
  taint === undefined || pod.tolerates === '*' || pod.tolerates === taint;

/** The rules again, in their most literal form. */
function naivelyFits(nodes: readonly NodeCase[], placed: readonly Placed[], pod: PodCase, at: number): boolean {
  const node = nodes[at];
  if (node === undefined) return false;
  const here = placed.filter((each) => each.node === at);
  const selects = (shape: PodCase, other: PodCase): boolean => shape.app === other.app;
  const inZone = (zone: string | undefined): readonly Placed[] =>
    placed.filter((each) => nodes[each.node]?.zone === zone && zone !== undefined);
  if (node.unschedulable && pod.tolerates !== '*') return false;
  if (!naivelyTolerates(pod, node)) return false;
  if (pod.port && here.some((each) => each.shape.port)) return false;
  if (pod.disk !== undefined && pod.disk !== node.disk) return false;
  if (here.length + 1 > node.pods) return false;
  if (here.reduce((sum, each) => sum + millis(each.shape), millis(pod)) > node.cpu * 1000) return false;
  if (pod.anti && here.some((each) => selects(pod, each.shape))) return false;
  if (here.some((each) => each.shape.anti && selects(each.shape, pod))) return false;
  if (pod.near) {
    if (node.zone === undefined) return false;
    const anywhere = placed.some((each) => selects(pod, each.shape) && nodes[each.node]?.zone !== undefined);
    if (anywhere && !inZone(node.zone).some((each) => selects(pod, each.shape))) return false;
  }
  if (pod.spread === undefined) return true;
  if (node.zone === undefined) return false;
  const eligible = nodes.flatMap((each, i) =>
    each.zone === undefined ||
    (pod.disk !== undefined && each.disk !== pod.disk) ||
    (pod.honorsTaints && !naivelyTolerates(pod, each))
      ? []
      : [i],
  );
  const countOf = (zone: string): number =>
    placed.filter((each) => eligible.includes(each.node) && nodes[each.node]?.zone === zone && selects(pod, each.shape))
      .length;
  const zones = new Set(eligible.map((i) => nodes[i]?.zone));
  const least = Math.min(...eligible.map((i) => countOf(nodes[i]?.zone ?? '')));
  const fewest = zones.size < (pod.minDomains ?? 1) ? 0 : least;
  return countOf(node.zone) + 1 - fewest <= pod.spread;
}

test('[SPREAD-10] [SPREAD-12] [SPREAD-14] decisions equal a naive reference on random clusters: no hard rule violated, no overcommit, no fitting pod refused', () => {
  fc.assert(
    fc.property(
      fc.array(nodeArbitrary, { maxLength: 6 }),
      fc.array(podArbitrary, { maxLength: 12 }),
      fc.integer(),
      (nodes, pods, seed) => {
        const random = createSeededRandom(seed, 'ties');
        const cluster = clusterOf(nodes.map(nodeFor));
        let placed: readonly Placed[] = [];
        for (const [i, shape] of pods.entries()) {
          const [first] = placed;
          if (shape.leaves && first !== undefined) {
            cluster.removePod(first.uid);
            placed = placed.slice(1);
          }
          const pod = podFor(shape, `p${i}`);
          const decision = decide(cluster, pod, { random });
          const fitting = nodes.flatMap((_, at) => (naivelyFits(nodes, placed, shape, at) ? [`n${at}`] : []));
          if (decision.kind === 'refuse') {
            assert.deepEqual(fitting, []);
            continue;
          }
          assert.ok(fitting.includes(decision.nodeName), `${decision.nodeName} is not one of ${fitting.join(', ')}`);
          const info = createPodInfo(pod);
          cluster.assume(info, decision.nodeName);
          placed = [...placed, { shape, node: Number(decision.nodeName.slice(1)), uid: info.uid }];
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('the same snapshot, pod and random numbers give the same decision; ties select any of the equal nodes', () => {
  const cluster = clusterOf(['a', 'b', 'c'].map((name) => buildNode(name)));
  const draws = Array.from({ length: 60 }, (_, seed) => outcome(cluster, buildPod('p'), createSeededRandom(seed, 't')));
  assert.deepEqual(
    [...new Set(draws)].toSorted((a, b) => (a < b ? -1 : 1)),
    ['a', 'b', 'c'],
  );
  const again = Array.from({ length: 60 }, (_, seed) => outcome(cluster, buildPod('p'), createSeededRandom(seed, 't')));
  assert.deepEqual(again, draws);
});

test('reasons are sorted as text, with the messages of Kubernetes', () => {
  const cluster = clusterOf([
    buildNode('a', { labels: { disk: 'hdd' } }),
    buildNode('b', { cpu: '1', pods: 0, labels: { disk: 'ssd' } }),
    buildNode('c', { labels: { disk: 'ssd' }, taints: [{ key: 'dedicated', effect: 'NoExecute' }] }),
  ]);
  assert.equal(
    outcome(cluster, buildPod('p', { cpu: '2', spec: { nodeSelector: { disk: 'ssd' } } })),
    "0/3 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 node(s) didn't match Pod's node affinity/selector, " +
      '1 node(s) had untolerated taint {dedicated: }. preemption: 0/3 nodes are available: ' +
      '1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.',
  );
  assert.equal(
    outcome(
      clusterOf([buildNode('a', { cpu: '1' })]),
      buildPod('p', { cpu: '2', spec: { preemptionPolicy: 'Never' } }),
    ),
    '0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.',
  );
});

test('[INIT-19] [INIT-20] [INIT-21] a node must have room for the largest init step and for all concurrent containers', () => {
  const container = (name: string, cpu: string, restartPolicy?: string) => ({
    name,
    image: 'i',
    resources: { requests: { cpu } },
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  const fits = (cpu: string, spec: Partial<Pod['spec']>): boolean =>
    decide(clusterOf([buildNode('n', { cpu })]), buildPod('p', { spec })).kind === 'place';
  const containers = [container('a', '1'), container('b', '1')];
  assert.equal(fits('2', { containers }), true);
  assert.equal(fits('1900m', { containers }), false);
  const largeInit = [container('i', '3')];
  assert.deepEqual(
    [fits('3', { containers, initContainers: largeInit }), fits('2', { containers, initContainers: largeInit })],
    [true, false],
  );
  const sidecar = [container('s', '1', 'Always'), container('i', '2')];
  assert.deepEqual(
    [fits('3', { containers, initContainers: sidecar }), fits('2900m', { containers, initContainers: sidecar })],
    [true, false],
  );
  const late = [container('i', '2'), container('s', '1', 'Always')];
  assert.deepEqual(
    [fits('3', { containers, initContainers: late }), fits('2', { containers, initContainers: late })],
    [true, false],
  );
  const overhead = { cpu: '500m' };
  assert.deepEqual([fits('2500m', { containers, overhead }), fits('2', { containers, overhead })], [true, false]);
});

test('[DISR-13] a cordoned node gets only pods that tolerate it', () => {
  const nodes = [buildNode('cordoned', { unschedulable: true })];
  assert.match(outcome(clusterOf(nodes), buildPod('p')), /^0\/1 nodes are available: 1 node\(s\) were unschedulable\./);
  const toleration = { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' };
  assert.equal(outcome(clusterOf(nodes), buildPod('p', { spec: { tolerations: [toleration] } })), 'cordoned');
  assert.equal(outcome(clusterOf([...nodes, buildNode('free')]), buildPod('p')), 'free');
});

test('host ports conflict by address and protocol', () => {
  const withPort = (name: string, hostPort: number, hostIP?: string, nodeName?: string): Pod =>
    buildPod(name, {
      ...(nodeName === undefined ? {} : { nodeName }),
      spec: {
        containers: [
          {
            name: 'c',
            image: 'i',
            resources: {},
            ports: [{ containerPort: 1, hostPort, ...(hostIP === undefined ? {} : { hostIP }) }],
          },
        ],
      },
    });
  const cluster = clusterOf([buildNode('n')], [withPort('a', 80, '10.0.0.1', 'n')]);
  assert.equal(outcome(cluster, withPort('b', 80, '10.0.0.2')), 'n');
  assert.match(outcome(cluster, withPort('b', 80)), /didn't have free ports for the requested pod ports/);
  assert.equal(outcome(cluster, withPort('b', 81)), 'n');
});

test('a part of a large cluster is searched, and all of a small one', () => {
  assert.deepEqual(
    [10, 99, 100, 1_000, 5_000, 20_000].map((nodes) => feasibleToFind(nodes)),
    [10, 99, 100, 420, 500, 1_000],
  );
});
