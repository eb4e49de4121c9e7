import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Pod, type PodDisruptionBudget, qosClassOf } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import type { Preemption } from '../decider.ts';
import { buildNode, buildPod, type PodShape } from '../testing/builders.ts';
import { clusterOf, configured, decide, decideFully, deciderFor, outcome, profileFor } from '../testing/cluster.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { createPodInfo, refreshPodInfo } from './pod-info.ts';
import { findCandidates } from './preemption.ts';

const withPriority = (name: string, priority: number, shape: PodShape = {}): Pod =>
  buildPod(name, { ...shape, spec: { ...shape.spec, priority } });

function tryPreempt(cluster: ClusterCache, pod: Pod, budgets: readonly PodDisruptionBudget[] = []): Preemption {
  const decided = decideFully(cluster, pod, { budgets });
  assert.ok(decided.kind === 'refuse', 'the pod fits without preemption');
  return decided.preemption;
}

const told = (result: Preemption): string =>
  result.kind === 'none'
    ? result.message
    : `${result.candidate.nodeName}: ${result.candidate.victims.map(({ name }) => name).join(' ')}`;

const budget = (app: string, disruptionsAllowed: number): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: app, namespace: 'default' },
  spec: { selector: { matchLabels: { app } } },
  status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
});

const started = (pod: Pod, day: number): Pod => ({
  ...pod,
  status: { ...pod.status, startTime: `2026-01-0${day}T00:00:00Z` },
});

test('[PREEMPT-01] [PREEMPT-05] preemption removes as few and as unimportant pods as needed, on one node', () => {
  const cluster = clusterOf(
    [buildNode('a', { cpu: '4' })],
    [
      withPriority('p1', 1, { nodeName: 'a', cpu: '1' }),
      withPriority('p2', 2, { nodeName: 'a', cpu: '1' }),
      withPriority('p3', 3, { nodeName: 'a', cpu: '1' }),
      withPriority('p9', 9, { nodeName: 'a', cpu: '1' }),
    ],
  );
  assert.equal(told(tryPreempt(cluster, withPriority('x', 5, { cpu: '1' }))), 'a: p1');
  assert.equal(told(tryPreempt(cluster, withPriority('x', 5, { cpu: '2' }))), 'a: p2 p1');
});

test('[QOS-14] the QoS class is ignored: the least important pod is removed, guaranteed or not, and only when no node has room', () => {
  const guaranteed = {
    containers: [
      {
        name: 'c',
        image: 'i',
        resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
      },
    ],
  };
  const ofClass = (qosClass: string, pod: Pod): Pod => ({ ...pod, status: { ...pod.status, qosClass } });
  const pods = [
    ofClass('Guaranteed', withPriority('guaranteed', 1, { nodeName: 'a', spec: guaranteed })),
    ofClass('Burstable', withPriority('burstable', 2, { nodeName: 'a', cpu: '1' })),
    ofClass('BestEffort', withPriority('best-effort', 0, { nodeName: 'b' })),
  ];
  const nodes = [buildNode('a', { cpu: '2' }), buildNode('b', { cpu: '500m' })];
  assert.equal(told(tryPreempt(clusterOf(nodes, pods), withPriority('x', 5, { cpu: '1' }))), 'a: guaranteed');
  const roomy = clusterOf([...nodes, buildNode('c')], pods);
  assert.equal(decideFully(roomy, withPriority('x', 5, { cpu: '1' }), { budgets: [] }).kind, 'place');
  const two = [buildNode('a', { cpu: '1', pods: 1 }), buildNode('b', { pods: 1 })];
  const oneEach = [
    ofClass('Guaranteed', withPriority('guaranteed', 1, { nodeName: 'a', spec: guaranteed })),
    ofClass('BestEffort', withPriority('best-effort', 2, { nodeName: 'b' })),
  ];
  assert.equal(told(tryPreempt(clusterOf(two, oneEach), withPriority('x', 5, { cpu: '1' }))), 'a: guaranteed');
});

test('[PREEMPT-02] [PREEMPT-04] [TEST-09] equal and higher priorities are never victims', () => {
  const cluster = clusterOf([buildNode('a', { cpu: '1' })], [withPriority('p', 5, { nodeName: 'a', cpu: '1' })]);
  const message = 'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.';
  assert.equal(told(tryPreempt(cluster, withPriority('x', 5, { cpu: '1' }))), message);
  assert.equal(told(tryPreempt(cluster, withPriority('x', 4, { cpu: '1' }))), message);
  assert.equal(told(tryPreempt(cluster, withPriority('x', 6, { cpu: '1' }))), 'a: p');
});

test('[TEST-09] no pod is removed when there is room or when it does not help, otherwise the least important pod of any node', () => {
  const nodes = [buildNode('a', { cpu: '2' }), buildNode('b', { cpu: '2' })];
  const on = (name: string, nodeName: string, priority: number, cpu = '2'): Pod =>
    withPriority(name, priority, { nodeName, cpu });
  const x = withPriority('x', 9, { cpu: '2' });
  assert.equal(decideFully(clusterOf(nodes, [on('p', 'a', 1)]), x, { budgets: [] }).kind, 'place');
  const least = clusterOf(nodes, [on('a1', 'a', 5), on('b1', 'b', 3, '1'), on('b2', 'b', 3, '1')]);
  assert.equal(told(tryPreempt(least, x)), 'b: b1 b2', 'two of low priority rather than one of a higher');
  const small = clusterOf(nodes, [on('a1', 'a', 1), on('b1', 'b', 1)]);
  assert.equal(
    told(tryPreempt(small, withPriority('large', 9, { cpu: '3' }))),
    'preemption: 0/2 nodes are available: 2 Insufficient cpu.',
  );
  const kept = clusterOf([buildNode('a', { cpu: '2' })], [on('high', 'a', 9, '1'), on('low', 'a', 1, '1')]);
  assert.equal(
    told(tryPreempt(kept, x)),
    'preemption: 0/1 nodes are available: 1 Insufficient cpu.',
    'the low one would go in vain',
  );
});

test('[PREEMPT-03] [PREEMPT-04] no pod is removed where it does not help', () => {
  const cluster = clusterOf(
    [buildNode('a', { cpu: '2' }), buildNode('b', { unschedulable: true })],
    [withPriority('p', 1, { nodeName: 'a', cpu: '1' }), withPriority('q', 1, { nodeName: 'b', cpu: '4' })],
  );
  assert.equal(
    told(tryPreempt(cluster, withPriority('x', 5, { cpu: '3' }))),
    'preemption: 0/2 nodes are available: 1 Insufficient cpu, 1 Preemption is not helpful for scheduling.',
  );
});

test('[PREEMPT-16] [PREEMPT-18] [EXS-24] a node whose victims have disruption budget left is preferred, but a budget is no guarantee', () => {
  const shape = (app: string, nodeName: string): PodShape => ({ nodeName, cpu: '4', labels: { app } });
  const guarded = withPriority('guarded', 1, shape('guarded', 'a'));
  const free = withPriority('free', 3, shape('free', 'b'));
  const nodes = [buildNode('a'), buildNode('b')];
  const x = withPriority('x', 5, { cpu: '4' });
  assert.equal(told(tryPreempt(clusterOf(nodes, [guarded, free]), x)), 'a: guarded');
  assert.equal(told(tryPreempt(clusterOf(nodes, [guarded, free]), x, [budget('guarded', 0)])), 'b: free');
  assert.equal(told(tryPreempt(clusterOf(nodes, [guarded, free]), x, [budget('guarded', 1)])), 'a: guarded');
  const both = [budget('guarded', 0), budget('free', 0)];
  assert.equal(told(tryPreempt(clusterOf(nodes, [guarded, free]), x, both)), 'a: guarded');
  const turned = [withPriority('guarded', 3, shape('guarded', 'a')), withPriority('free', 1, shape('free', 'b'))];
  assert.equal(told(tryPreempt(clusterOf(nodes, turned), x)), 'b: free', 'whatever the order of the nodes');
  assert.equal(told(tryPreempt(clusterOf(nodes, turned), x, both)), 'b: free');
});

test('[PREEMPT-03] [SPREAD-08] no pod is removed for a pod that would still exceed a constraint: a terminating pod is not counted', () => {
  const spread = {
    maxSkew: 1,
    topologyKey: 'zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'x' } },
  };
  const nodes = ['a', 'b'].map((zone) => buildNode(zone, { cpu: '4', labels: { zone } }));
  const leaving = withPriority('leaving', 1, { nodeName: 'b', labels: { app: 'x' } });
  const cluster = clusterOf(nodes, [
    withPriority('important', 9, { nodeName: 'a', cpu: '4' }),
    withPriority('stays', 9, { nodeName: 'b', labels: { app: 'x' } }),
    { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    withPriority('harmless', 1, { nodeName: 'b', cpu: '4' }),
  ]);
  const x = withPriority('x', 5, { cpu: '1', labels: { app: 'x' }, spec: { topologySpreadConstraints: [spread] } });
  const result = tryPreempt(cluster, x);
  assert.equal(result.kind, 'none', told(result));
});

test('[PREEMPT-16] [DISR-06] a budget without a selector protects no pod, one with an empty selector every pod, as for evictions', () => {
  const on = (name: string, priority: number, nodeName: string, labels: Record<string, string>): Pod =>
    withPriority(name, priority, { nodeName, cpu: '4', labels });
  const nodes = [buildNode('a'), buildNode('b')];
  const pods = [on('first', 1, 'a', { app: 'x' }), on('second', 3, 'b', {})];
  const selecting = (selector: PodDisruptionBudget['spec']['selector']): PodDisruptionBudget => ({
    ...budget('x', 0),
    spec: { ...(selector && { selector }) },
  });
  const x = withPriority('x', 5, { cpu: '4' });
  const chosen = (selector: PodDisruptionBudget['spec']['selector'], placed = pods): string =>
    told(tryPreempt(clusterOf(nodes, placed), x, [selecting(selector)]));
  assert.equal(chosen({ matchLabels: { app: 'x' } }), 'b: second');
  assert.equal(chosen(undefined), 'a: first');
  const unguarded = [
    on('first', 1, 'a', {}),
    { ...on('second', 3, 'b', {}), metadata: { name: 'second', namespace: 'other' } },
  ];
  assert.equal(chosen(undefined, unguarded), 'a: first', 'no selector is not an empty one');
  const guardsFirst = { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['y'] }] };
  const unlabelled = [on('first', 1, 'a', {}), on('second', 3, 'b', { app: 'y' })];
  assert.equal(chosen(guardsFirst, unlabelled), 'b: second');
  const elsewhere = unlabelled.map((pod) =>
    pod.metadata.name === 'second' ? { ...pod, metadata: { ...pod.metadata, namespace: 'other' } } : pod,
  );
  assert.equal(chosen({}, elsewhere), 'b: second');
});

test('[PREEMPT-17] lowest highest priority, then smallest sum, then the shortest runtime', () => {
  const on = (nodeName: string, cpu: string): PodShape => ({ nodeName, cpu });
  const nodes = ['a', 'b', 'c'].map((name) => buildNode(name));
  const x = withPriority('x', 9, { cpu: '4' });
  const priorities = [
    withPriority('a1', 5, on('a', '4')),
    withPriority('b1', 2, on('b', '2')),
    withPriority('b2', 2, on('b', '2')),
    withPriority('c1', 2, on('c', '4')),
  ];
  assert.equal(told(tryPreempt(clusterOf(nodes, priorities), x)), 'c: c1');
  const days = [2, 3, 1];
  const ages = nodes.map(({ metadata: { name = '' } }, i) =>
    started(withPriority(`${name}1`, 2, on(name, '4')), days[i] ?? 0),
  );
  assert.equal(told(tryPreempt(clusterOf(nodes, ages), x)), 'b: b1');
});

test('[PREEMPT-22] [PRIO-18] preemptionPolicy Never removes no pod', () => {
  const cluster = clusterOf([buildNode('a', { cpu: '1' })], [withPriority('p', 1, { nodeName: 'a', cpu: '1' })]);
  const x = withPriority('x', 5, { cpu: '1', spec: { preemptionPolicy: 'Never' } });
  assert.equal(told(tryPreempt(cluster, x)), 'preemption: not eligible due to preemptionPolicy=Never.');
});

test('[PREEMPT-13] while its victims terminate a pod removes no more', () => {
  const victim = withPriority('p', 1, { nodeName: 'a', cpu: '1' });
  const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
  const terminating: Pod = {
    ...victim,
    metadata: { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    status: { ...victim.status, conditions: [condition] },
  };
  const x = withPriority('x', 5, { cpu: '1' });
  const cluster = clusterOf([buildNode('a', { cpu: '1' })], [terminating]);
  cluster.nominations.set(createPodInfo(x), 'a');
  assert.equal(
    told(tryPreempt(cluster, x)),
    'preemption: not eligible due to a terminating pod on the nominated node.',
  );
});

test('[PREEMPT-10] [PREEMPT-14] room freed for a pod is not given to a less important one, but to a more important one', () => {
  const cluster = clusterOf([buildNode('a', { cpu: '2' })]);
  cluster.nominations.set(createPodInfo(withPriority('waits', 5, { cpu: '2' })), 'a');
  assert.match(outcome(cluster, withPriority('low', 1, { cpu: '1' })), /1 Insufficient cpu/);
  assert.equal(outcome(cluster, withPriority('high', 9, { cpu: '1' })), 'a');
});

test('[PREEMPT-20] [PREEMPT-21] pods of another node are never removed, nor pods that the pod has affinity to', () => {
  const near = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } };
  const cluster = clusterOf(
    [buildNode('a', { cpu: '1' }), buildNode('b', { cpu: '4' })],
    [withPriority('db', 1, { nodeName: 'a', cpu: '1', labels: { app: 'db' } })],
  );
  const x = withPriority('x', 5, {
    cpu: '1',
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near] } },
  });
  assert.match(told(tryPreempt(cluster, x)), /^preemption: 0\/2 nodes are available/);
});

test('without its victims the pod fits, and with any one of them back it does not', () => {
  const shape = fc.record({
    node: fc.constantFrom('a', 'b'),
    cpu: fc.integer({ min: 1, max: 3 }),
    priority: fc.nat(6),
  });
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 6 }), fc.integer({ min: 1, max: 4 }), (shapes, cpu) => {
      const nodes = ['a', 'b'].map((name) => buildNode(name));
      const placed = shapes.map((each, i) =>
        withPriority(`p${i}`, each.priority, { nodeName: each.node, cpu: String(each.cpu) }),
      );
      const x = withPriority('x', 4, { cpu: String(cpu) });
      if (decide(clusterOf(nodes, placed), x).kind === 'place') return;
      const result = tryPreempt(clusterOf(nodes, placed), x);
      if (result.kind === 'none') return;
      const { victims, nodeName } = result.candidate;
      const gone = new Set(victims.map(({ name }) => name));
      const fits = (without: ReadonlySet<string>): boolean => {
        const rest = placed.filter(({ metadata }) => !without.has(metadata.name ?? ''));
        const others = nodes.filter(({ metadata }) => metadata.name === nodeName);
        const here = rest.filter(({ spec }) => spec.nodeName === nodeName);
        return decide(clusterOf(others, here), x).kind === 'place';
      };
      assert.ok(victims.every(({ priority }) => priority < 4));
      assert.ok(fits(gone));
      for (const name of gone) assert.ok(!fits(gone.difference(new Set([name]))), `${name} did not have to go`);
    }),
    { numRuns: 200 },
  );
});

test('[PREEMPT-11] the nominated node is tried first, another one is used when it has room earlier', () => {
  const nodes = [buildNode('a'), buildNode('b')];
  const x = createPodInfo(withPriority('x', 5, { cpu: '4' }));
  const free = clusterOf(nodes);
  free.nominations.set(x, 'b');
  assert.deepEqual(
    Array.from({ length: 20 }, (_, seed) => outcome(free, x.pod, createSeededRandom(seed, 't'))),
    Array(20).fill('b'),
  );
  const taken = clusterOf(nodes, [withPriority('p', 1, { nodeName: 'b', cpu: '1' })]);
  taken.nominations.set(x, 'b');
  assert.equal(outcome(taken, x.pod), 'a');
});

const near = (app: string, topologyKey = 'kubernetes.io/hostname') => ({
  topologyKey,
  labelSelector: { matchLabels: { app } },
});

test('[PREEMPT-03] [PREEMPT-20] [EXS-25] a pod with affinity to its own victim gets no room, with affinity to a more important pod it does', () => {
  const x = withPriority('x', 1000, {
    cpu: '1',
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near('x')] } },
  });
  const low = withPriority('low', 100, { nodeName: 'n', cpu: '1', labels: { app: 'x' } });
  const alone = clusterOf([buildNode('n', { cpu: '1' })], [low]);
  assert.equal(
    told(tryPreempt(alone, x)),
    "preemption: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
  );
  const peer = withPriority('peer', 1000, { nodeName: 'n', labels: { app: 'x' } });
  const together = clusterOf([buildNode('n', { cpu: '1' })], [low, peer]);
  assert.equal(told(tryPreempt(together, x)), 'n: low');
});

test('[PREEMPT-21] [EXS-26] a pod elsewhere with zone anti-affinity is not removed, and the message says so', () => {
  const zone = { zone: 'z' };
  const x = withPriority('x', 1000, {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near('q', 'zone')] } },
    spec: { nodeSelector: { 'kubernetes.io/hostname': 'n' } },
  });
  const nodes = [buildNode('n', { labels: zone }), buildNode('m', { labels: zone })];
  const q = withPriority('q', 1, { nodeName: 'm', labels: { app: 'q' } });
  assert.equal(
    outcome(clusterOf(nodes, [q]), x),
    "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod anti-affinity rules. " +
      'preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.',
  );
  assert.equal(outcome(clusterOf(nodes), x), 'n');
});

test('[PREEMPT-03] a trial leaves the cluster unchanged', () => {
  const placed = [1, 2].map((priority) => withPriority(`p${priority}`, priority, { nodeName: 'a', cpu: '1' }));
  const cluster = clusterOf([buildNode('a', { cpu: '2' })], placed);
  assert.equal(told(tryPreempt(cluster, withPriority('x', 5, { cpu: '1' }))), 'a: p1');
  assert.deepEqual(Array.from(cluster.node('a')?.pods.values() ?? [], ({ name }) => name).toSorted(), ['p1', 'p2']);
  assert.equal(decide(cluster, withPriority('y', 0, { cpu: '1' })).kind, 'refuse', 'nothing became free');
});

test('[PREEMPT-05] among equal priorities, longer running pods are spared, and pods with an exhausted budget before all others', () => {
  const on = (name: string, priority: number, day: number, app = name): Pod =>
    started(withPriority(name, priority, { nodeName: 'a', cpu: '1', labels: { app } }), day);
  const x = withPriority('x', 9, { cpu: '1' });
  const victims = (placed: readonly Pod[], budgets: readonly PodDisruptionBudget[] = []): string =>
    told(tryPreempt(clusterOf([buildNode('a', { cpu: '2' })], placed), x, budgets));
  assert.equal(victims([on('old', 1, 1), on('young', 1, 2)]), 'a: young');
  assert.equal(victims([on('young', 1, 2), on('old', 1, 1)]), 'a: young');
  const guarded = [on('guarded', 1, 2), on('free', 5, 1)];
  assert.equal(victims(guarded), 'a: guarded');
  assert.equal(victims(guarded, [budget('guarded', 0)]), 'a: free');
});

test('[PREEMPT-13] a pod that another client deleted is no victim: others are removed', () => {
  const leaving = withPriority('leaving', 1, { nodeName: 'a', cpu: '1' });
  const metadata = { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  const cluster = clusterOf(
    [buildNode('a', { cpu: '2' })],
    [{ ...leaving, metadata }, withPriority('victim', 1, { nodeName: 'a', cpu: '1' })],
  );
  const x = withPriority('x', 5, { cpu: '2' });
  cluster.nominations.set(createPodInfo(x), 'a');
  assert.match(told(tryPreempt(cluster, x)), /^a: .*\bvictim\b/);
});

test('[PREEMPT-17] the highest priority of the victims decides before their sum', () => {
  const nodes = ['a', 'b'].map((name) => buildNode(name));
  const placed = [
    withPriority('a1', 5, { nodeName: 'a', cpu: '4' }),
    withPriority('b1', 2, { nodeName: 'b', cpu: '2' }),
    withPriority('b2', 2, { nodeName: 'b', cpu: '2' }),
  ];
  assert.equal(told(tryPreempt(clusterOf(nodes, placed), withPriority('x', 9, { cpu: '4' }))), 'b: b1 b2');
});

test('[PREEMPT-17] the longest running of the most important victims decides: the node with its shortest runtime', () => {
  const nodes = ['a', 'b'].map((name) => buildNode(name));
  const x = withPriority('x', 9, { cpu: '4' });
  const on = (nodeName: string, priority: number, day: number): Pod =>
    started(withPriority(`${nodeName}${priority}${day}`, priority, { nodeName, cpu: '2' }), day);
  const nodeChosen = (...placed: readonly Pod[]): string => told(tryPreempt(clusterOf(nodes, placed), x)).slice(0, 1);
  assert.equal(nodeChosen(on('a', 2, 1), on('a', 2, 9), on('b', 2, 3), on('b', 2, 4)), 'b');
  assert.equal(nodeChosen(on('a', 2, 5), on('a', 1, 1), on('b', 2, 4), on('b', 1, 4)), 'a');
});

test('[PREEMPT-19] QoS is ignored, priority decides', () => {
  const resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
  const guaranteed = withPriority('guaranteed', 1, {
    nodeName: 'n',
    spec: { containers: [{ name: 'c', image: 'i', resources }] },
  });
  const burstable = withPriority('burstable', 2, { nodeName: 'n', cpu: '1' });
  const withClass = (pod: Pod): Pod => ({ ...pod, status: { ...pod.status, qosClass: qosClassOf(pod) } });
  const cluster = clusterOf([buildNode('n', { cpu: '2' })], [burstable, guaranteed].map(withClass));
  assert.equal(told(tryPreempt(cluster, withPriority('x', 9, { cpu: '1' }))), 'n: guaranteed');
});

test('[PRIO-13] a pod without a priority counts as 0', () => {
  const old = buildPod('old', { nodeName: 'n', cpu: '1' });
  const cluster = clusterOf([buildNode('n', { cpu: '1' })], [old]);
  assert.equal(told(tryPreempt(cluster, withPriority('x', 1, { cpu: '1' }))), 'n: old');
  assert.match(told(tryPreempt(cluster, withPriority('x', 0, { cpu: '1' }))), /No preemption victims/);
  const negative = clusterOf([buildNode('n', { cpu: '1' })], [withPriority('p', -1, { nodeName: 'n', cpu: '1' })]);
  assert.equal(told(tryPreempt(negative, buildPod('x', { cpu: '1' }))), 'n: p');
});

test('[PREEMPT-24] a terminating victim still occupies its node', () => {
  const victim = withPriority('p', 1, { nodeName: 'n', cpu: '1' });
  const leaving = { ...victim, metadata: { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const cluster = clusterOf([buildNode('n', { cpu: '1' })], [leaving]);
  assert.equal(decide(cluster, withPriority('x', 5, { cpu: '1' })).kind, 'refuse');
});

test('[PREEMPT-10] a more important pod nominated to the same node counts in every trial', () => {
  const cluster = clusterOf([buildNode('n', { cpu: '2' })], [withPriority('p', 1, { nodeName: 'n', cpu: '2' })]);
  cluster.nominations.set(createPodInfo(withPriority('waits', 9, { cpu: '1' })), 'n');
  assert.equal(told(tryPreempt(cluster, withPriority('x', 5, { cpu: '1' }))), 'n: p');
  assert.match(told(tryPreempt(cluster, withPriority('x', 5, { cpu: '2' }))), /1 Insufficient cpu/);
});

test('[PREEMPT-16] a pod already recorded as disrupted in its budget consumes no more of it', () => {
  const placed = [
    withPriority('a', 1, { nodeName: 'n', cpu: '4', labels: { app: 'a' } }),
    withPriority('b', 2, { nodeName: 'm', cpu: '4', labels: { app: 'b' } }),
  ];
  const nodes = [buildNode('n'), buildNode('m')];
  const spent = budget('a', 0);
  const x = withPriority('x', 5, { cpu: '4' });
  assert.equal(told(tryPreempt(clusterOf(nodes, placed), x, [spent])), 'm: b');
  const listed = { ...spent, status: { ...spent.status, disruptedPods: { a: '2026-01-01T00:00:00Z' } } };
  assert.equal(told(tryPreempt(clusterOf(nodes, placed), x, [listed])), 'n: a');
  const elsewhere = { ...spent, metadata: { ...spent.metadata, namespace: 'other' } };
  assert.equal(told(tryPreempt(clusterOf(nodes, placed), x, [elsewhere])), 'n: a');
});

test('[PREEMPT-17] among equal sums, the node with fewer victims is chosen', () => {
  const lowest = -(2 ** 31);
  const placed = [
    withPriority('a1', lowest, { nodeName: 'a', cpu: '2' }),
    withPriority('a2', lowest, { nodeName: 'a', cpu: '2' }),
    withPriority('b1', lowest, { nodeName: 'b', cpu: '4' }),
  ];
  const cluster = clusterOf([buildNode('a'), buildNode('b')], placed);
  assert.equal(told(tryPreempt(cluster, withPriority('x', 1, { cpu: '4' }))), 'b: b1');
});

test('equal pods retry a node only after something on it has changed', () => {
  const nodes = Array.from({ length: 20 }, (_, i) => `n${i}`);
  const full = nodes.map((name) => withPriority(`on-${name}`, 1, { nodeName: name, cpu: '4' }));
  const cluster = clusterOf(
    nodes.map((name) => buildNode(name, { cpu: '4' })),
    full,
  );
  const decideOn = deciderFor(cluster);
  const trialsOf = (name: string, priority = 5): number => {
    const before = cluster.work().trials;
    void decideOn(createPodInfo(withPriority(name, priority, { cpu: '1' })));
    return cluster.work().trials - before;
  };
  assert.equal(trialsOf('first'), 20);
  assert.equal(trialsOf('second'), 0);
  cluster.removePod('on-n3');
  cluster.setPod(createPodInfo(withPriority('other', 1, { nodeName: 'n3', cpu: '4' })));
  assert.equal(trialsOf('after a change'), 1);
  const [, , , , reported] = full;
  assert.ok(reported !== undefined);
  const started = { ...reported, status: { ...reported.status, startTime: '2026-01-01T00:00:00Z' } };
  cluster.setPod(refreshPodInfo(cluster.placed(reported.metadata.uid ?? ''), started));
  assert.equal(trialsOf('after a report'), 1);
  assert.equal(trialsOf('more important', 6), 20);
});

test('pods with and without pod affinity do not share results about victims', () => {
  const at = { nodeName: 'a', cpu: '2', labels: { app: 'x' } };
  const cluster = clusterOf([buildNode('a', { cpu: '4' })], [withPriority('p1', 1, at), withPriority('p2', 2, at)]);
  const apart = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'x' } } };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } };
  const plain = withPriority('plain', 5, { cpu: '2' });
  const picky = withPriority('picky', 5, { cpu: '2', affinity });
  assert.deepEqual(
    [plain, picky, plain].map((pod) => told(tryPreempt(cluster, pod))),
    ['a: p1', 'a: p2 p1', 'a: p1'],
  );
});

test('[PREEMPT-10] room being freed for a pod is not for others of the same priority, only for more important ones', () => {
  const cluster = clusterOf([buildNode('a', { cpu: '4' })]);
  cluster.nominations.set(createPodInfo(withPriority('first', 5, { cpu: '3' })), 'a');
  const [equal, higher] = [withPriority('equal', 5, { cpu: '2' }), withPriority('higher', 6, { cpu: '2' })];
  assert.equal(decide(cluster, equal).kind, 'refuse');
  assert.equal(decide(cluster, higher).kind, 'place');
  assert.equal(decide(cluster, withPriority('small', 5, { cpu: '1' })).kind, 'place');
});

test('[PREEMPT-13] a nominated victim that is not terminating yet is deleted again; a terminating one is waited for', () => {
  const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
  const victim = withPriority('victim', 1, { nodeName: 'a', cpu: '4' });
  const named: Pod = { ...victim, status: { ...victim.status, conditions: [condition] } };
  const ending: Pod = { ...named, metadata: { ...named.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const pod = withPriority('x', 5, { cpu: '4' });
  const triedWith = (placed: Pod): string => {
    const cluster = clusterOf([buildNode('a', { cpu: '4' })], [placed]);
    cluster.nominations.set(createPodInfo(pod), 'a');
    return told(tryPreempt(cluster, pod));
  };
  assert.equal(triedWith(named), 'a: victim');
  assert.equal(triedWith(ending), 'preemption: not eligible due to a terminating pod on the nominated node.');
});

test('the search for candidates continues until one of them violates no budget', () => {
  const configuration = configured('DefaultPreemption', {
    minCandidateNodesPercentage: 1,
    minCandidateNodesAbsolute: 1,
  });
  const names = ['a', 'b', 'c', 'd'];
  const cluster = clusterOf(
    names.map((name) => buildNode(name, { cpu: '1' })),
    names.map((name) =>
      withPriority(`on-${name}`, 1, { nodeName: name, cpu: '1', labels: { app: name === 'c' ? 'free' : 'kept' } }),
    ),
  );
  for (let seed = 0; seed < 20; seed++) {
    const random = createSeededRandom(seed, 'start');
    const incoming = withPriority('x', 5, { cpu: '1' });
    const decided = decideFully(cluster, incoming, { random, configuration, budgets: [budget('kept', 0)] });
    assert.ok(decided.kind === 'refuse');
    assert.equal(told(decided.preemption), 'c: on-c');
  }
});

test('the result of an extender for one pod is not shared with equal pods', () => {
  const cluster = clusterOf([buildNode('a')]);
  const random = createSeededRandom(1, 'start');
  const toldOf = (name: string, resolvable: boolean): string => {
    const pod = createPodInfo(withPriority(name, 5, { cpu: '1' }));
    const results = cluster.sharedBy(profileFor(cluster), pod);
    const rejections = new Map([['a', { plugin: 'Extender', reasons: ['no'], resolvable }]]);
    const refusal = { kind: 'refuse', rejections, others: undefined, podReason: undefined, filters: [] } as const;
    const found = findCandidates(
      {
        pod,
        snapshot: cluster,
        refusal: { ...refusal, plugins: new Set(['Extender']), results },
        filters: [],
        budgets: [],
        random,
      },
      { percentage: 10, absolute: 100 },
    );
    assert.ok(found.kind === 'none');
    return found.message;
  };
  assert.match(toldOf('x', false), /1 Preemption is not helpful for scheduling\.$/);
  assert.match(toldOf('y', true), /1 No preemption victims found for incoming pod\.$/);
});
