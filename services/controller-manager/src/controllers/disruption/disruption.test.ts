import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEPLOYMENTS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  REPLICA_SETS,
} from '@holdfast/api';
import { formatTime, parseTime } from '@holdfast/platform';
import fc from 'fast-check';
import { controllerReference } from '../../common/meta.ts';
import { deployment, pod, podTemplate, readyStatus } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { type BudgetSnapshot, decide } from './decide.ts';
import { disruptionController } from './index.ts';

const NOW = parseTime('2026-01-01T01:00:00Z') ?? 0;
const SPEC = { selector: { matchLabels: { app: 'web' } } };
const budget = (
  spec: Partial<PodDisruptionBudget['spec']>,
  status: Partial<PodDisruptionBudget['status']> = {},
): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { namespace: 'default', name: 'web', generation: 3 },
  spec: { ...SPEC, ...spec },
  status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0, ...status },
});

const OWNER = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'set', controller: true };
interface PodState {
  readonly ready: boolean;
  readonly terminating: boolean;
}
const owned = (name: string, { ready, terminating }: PodState = { ready: true, terminating: false }): Pod =>
  pod(
    {
      name,
      uid: `uid-${name}`,
      labels: { app: 'web' },
      ownerReferences: [OWNER],
      ...(terminating ? { deletionTimestamp: '2026-01-01T00:59:00Z' } : {}),
    },
    ready ? readyStatus('2026-01-01T00:00:00Z') : { phase: 'Running' },
  );
const pods = (count: number, state?: PodState): readonly Pod[] =>
  Array.from({ length: count }, (_, n) => owned(`p${n}`, state));
const ofSize =
  (replicas: number): BudgetSnapshot['scaleOf'] =>
  () => ({ uid: 'set', replicas });
const figures = (snapshot: BudgetSnapshot): readonly (number | undefined)[] => {
  const { status } = decide(snapshot, NOW);
  return [status?.expectedPods, status?.currentHealthy, status?.desiredHealthy, status?.disruptionsAllowed];
};

test('[DISR-05] [DISR-07] [DISR-08] [DISR-18] a budget calculates its numbers and percentages from the desired size of the owner', () => {
  const table: readonly [string, Partial<PodDisruptionBudget['spec']>, number, number, readonly number[]][] = [
    ['one of five may go', { minAvailable: 4 }, 5, 5, [5, 5, 4, 1]],
    ['one is missing already', { minAvailable: 4 }, 5, 4, [4, 4, 4, 0]],
    ['fewer than demanded are left', { minAvailable: 4 }, 5, 2, [2, 2, 4, 0]],
    ['a number counts the pods that are there', { minAvailable: 1 }, 9, 3, [3, 3, 1, 2]],
    ['a percentage counts those that should be there, rounded up', { minAvailable: '50%' }, 7, 7, [7, 7, 4, 3]],
    ['maxUnavailable is taken from the wanted size', { maxUnavailable: 1 }, 5, 5, [5, 5, 4, 1]],
    ['missing pods count against it', { maxUnavailable: 1 }, 5, 4, [5, 4, 4, 0]],
    ['its percentages round up, too', { maxUnavailable: '30%' }, 7, 7, [7, 7, 4, 3]],
    ['more may be missing than there are', { maxUnavailable: 9 }, 5, 5, [5, 5, 0, 5]],
    ['no pods, no disruptions', { maxUnavailable: 1 }, 5, 0, [0, 0, 0, 0]],
  ];
  for (const [title, spec, replicas, running, expected] of table) {
    assert.deepEqual(
      figures({ budget: budget(spec), pods: pods(running), scaleOf: ofSize(replicas) }),
      expected,
      title,
    );
  }
});

test('[DISR-09] [DISR-10] [DISR-18] unready and terminating pods are not healthy, whatever the cause', () => {
  const some = [
    owned('a'),
    owned('b', { ready: false, terminating: false }),
    owned('c', { ready: true, terminating: true }),
    owned('d'),
  ];
  assert.deepEqual(figures({ budget: budget({ minAvailable: 2 }), pods: some, scaleOf: ofSize(4) }), [4, 2, 2, 0]);
});

test('[DISR-17] an evicted pod counts as gone for two minutes, and is reported when it still exists then', () => {
  const since = (agoMs: number): BudgetSnapshot => ({
    budget: budget({ minAvailable: 1 }, { disruptedPods: { p0: formatTime(NOW - agoMs) } }),
    pods: pods(3),
    scaleOf: ofSize(3),
  });
  const waiting = decide(since(90_000), NOW);
  assert.deepEqual([waiting.status?.currentHealthy, waiting.status?.disruptionsAllowed], [2, 1]);
  assert.deepEqual(Object.keys(waiting.status?.disruptedPods ?? {}), ['p0']);
  assert.equal(waiting.recheckAfterMs, 30_000);
  const justBefore = decide(since(119_000), NOW);
  assert.deepEqual(Object.keys(justBefore.status?.disruptedPods ?? {}), ['p0'], 'not before the two minutes are over');
  const going = { ...since(90_000), pods: [owned('p0', { ready: true, terminating: true }), owned('p1'), owned('p2')] };
  assert.equal(decide(going, NOW).status?.disruptedPods, undefined, 'who is on its way out is not waited for');
  const over = decide(since(121_000), NOW);
  assert.deepEqual([over.status?.currentHealthy, over.status?.disruptedPods], [3, undefined]);
  assert.deepEqual(
    over.events.map(({ reason, message, pod: about }) => [reason, message, about?.metadata.name]),
    [['NotDeleted', "Pod was expected by PDB default/web to be deleted but it wasn't", 'p0']],
  );
});

test('[DISR-18] a budget that cannot be calculated allows nothing and reports why; the condition recovers', () => {
  const snapshot = { budget: budget({ maxUnavailable: 1 }, { disruptionsAllowed: 1 }), pods: pods(2) };
  const failed = decide({ ...snapshot, scaleOf: () => undefined }, NOW);
  assert.equal(failed.status?.disruptionsAllowed, 0);
  assert.deepEqual(failed.status?.conditions, [
    {
      type: 'DisruptionAllowed',
      status: 'False',
      reason: 'SyncFailed',
      message: 'found no controllers for pod "p0"',
      observedGeneration: 0,
      lastTransitionTime: formatTime(NOW),
    },
  ]);
  assert.deepEqual(
    failed.events.map(({ reason }) => reason),
    ['CalculateExpectedPodCountFailed'],
  );
  const healed = decide({ ...snapshot, scaleOf: ofSize(2) }, NOW);
  assert.deepEqual(
    healed.status?.conditions?.map(({ status, reason, observedGeneration }) => [status, reason, observedGeneration]),
    [['True', 'SufficientPods', 3]],
  );
  assert.equal(healed.status?.observedGeneration, 3);
  const used = decide({ ...snapshot, pods: pods(1), scaleOf: ofSize(2) }, NOW).status?.conditions;
  assert.deepEqual(
    used?.map(({ type, status, reason }) => [type, status, reason]),
    [['DisruptionAllowed', 'False', 'InsufficientPods']],
  );
});

test('pods without an owner are reported, and a budget without pods too', () => {
  const { ownerReferences: _none, ...metadata } = owned('alone').metadata;
  const unmanaged = { ...owned('alone'), metadata };
  const of = (some: readonly Pod[]) =>
    decide({ budget: budget({ maxUnavailable: 1 }), pods: some, scaleOf: ofSize(1) }, NOW).events.map((e) => e.reason);
  assert.deepEqual(of([unmanaged]), ['UnmanagedPods']);
  assert.deepEqual(of([]), ['NoPods']);
});

const podState = fc.record({ ready: fc.boolean(), terminating: fc.boolean() });
test('[DISR-05] [DISR-26] with any pods: evicting every allowed pod leaves the required number of healthy pods', () => {
  const spec = fc.oneof(
    fc.record({
      minAvailable: fc.oneof(
        fc.nat(12),
        fc.nat(100).map((n) => `${n}%`),
      ),
    }),
    fc.record({
      maxUnavailable: fc.oneof(
        fc.nat(12),
        fc.nat(100).map((n) => `${n}%`),
      ),
    }),
  );
  fc.assert(
    fc.property(spec, fc.array(podState, { maxLength: 12 }), fc.nat(12), (limits, states, replicas) => {
      const some = states.map((state, n) => owned(`p${n}`, state));
      const snapshot = { budget: budget(limits), pods: some, scaleOf: ofSize(replicas) };
      const { status } = decide(snapshot, NOW);
      const healthy = states.filter(({ ready, terminating }) => ready && !terminating).length;
      const { disruptionsAllowed = 0, desiredHealthy = 0 } = status ?? {};
      assert.ok(disruptionsAllowed >= 0);
      if (disruptionsAllowed > 0) assert.ok(healthy - disruptionsAllowed >= desiredHealthy);
      if (status === undefined) return;
      assert.equal(decide({ ...snapshot, budget: { ...snapshot.budget, status } }, NOW).status, undefined, 'no thrash');
    }),
  );
});

function webIn(world: World): void {
  const web = world.api.put(DEPLOYMENTS, deployment());
  const reference = controllerReference(web, { apiVersion: 'apps/v1', kind: 'Deployment' });
  const set = world.api.put(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { namespace: 'default', name: 'web-1', uid: 'set', ownerReferences: [reference] },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: podTemplate() },
    status: { replicas: 0 },
  });
  assert.equal(set.metadata.uid, 'set');
}

const stored = (world: World): PodDisruptionBudget['status'] =>
  world.api.get(POD_DISRUPTION_BUDGETS, { namespace: 'default', name: 'web' }).status;

test('[DISR-06] [DISR-07] the desired size is that of the Deployment behind the pods, and the status follows them', async () => {
  const world = createWorld();
  webIn(world);
  world.api.put(POD_DISRUPTION_BUDGETS, budget({ maxUnavailable: 1 }));
  for (const each of pods(3)) world.api.put(PODS, each);
  world.api.put(PODS, pod({ name: 'stranger', labels: { app: 'other' } }, readyStatus('2026-01-01T00:00:00Z')));
  const controller = new DrivenController(world, disruptionController);
  await controller.settle();
  assert.deepEqual([stored(world).expectedPods, stored(world).disruptionsAllowed], [3, 1]);
  const writes = world.api.writes.length;
  world.api.put(PODS, { ...owned('p0'), metadata: { ...owned('p0').metadata, annotations: { a: 'b' } } });
  await controller.settle();
  assert.equal(world.api.writes.length, writes, 'a change that alters nothing costs no write');
  world.api.put(PODS, owned('p0', { ready: false, terminating: false }));
  await controller.settle();
  assert.deepEqual([stored(world).currentHealthy, stored(world).disruptionsAllowed], [2, 0]);
  assert.deepEqual(controller.errors, []);
});

test('the condition of a disruption that never happened is removed after two minutes, unless the node set it', async () => {
  const world = createWorld();
  const marked = (name: string, reason: string): Pod => {
    const lastTransitionTime = formatTime(world.clock.now());
    const conditions = [{ type: 'DisruptionTarget', status: 'True', reason, lastTransitionTime }];
    return pod({ name }, { phase: 'Running', conditions });
  };
  world.api.put(PODS, marked('evicted', 'EvictionByEvictionAPI'));
  world.api.put(PODS, marked('by-node', 'TerminationByKubelet'));
  const controller = new DrivenController(world, disruptionController);
  const mark = (name: string): string | undefined =>
    world.api.get(PODS, { namespace: 'default', name }).status?.conditions?.[0]?.status;
  await controller.settle();
  world.clock.skip(119_000);
  await controller.settle();
  assert.equal(mark('evicted'), 'True');
  world.clock.skip(2_000);
  await controller.settle();
  assert.deepEqual([mark('evicted'), mark('by-node')], ['False', 'True']);
});

test('[DISR-08] a budget is not raised from a pod cache that is older than the budget', async () => {
  const world = createWorld();
  for (const name of ['a', 'b', 'c']) world.api.put(PODS, owned(name));
  const status = {
    observedGeneration: 3,
    currentHealthy: 3,
    desiredHealthy: 2,
    disruptionsAllowed: 1,
    expectedPods: 3,
  };
  world.api.put(POD_DISRUPTION_BUDGETS, budget({ minAvailable: 2 }, status));
  const controller = new DrivenController(world, disruptionController);
  await controller.settle();
  const allowed = (): number =>
    world.api.get(POD_DISRUPTION_BUDGETS, { namespace: 'default', name: 'web' }).status.disruptionsAllowed;
  assert.equal(allowed(), 1);
  world.api.cache(PODS).freeze();
  world.api.put(PODS, owned('a', { ready: false, terminating: false }));
  // Another manager has observed it.
  world.api.put(
    POD_DISRUPTION_BUDGETS,
    budget({ minAvailable: 2 }, { ...status, currentHealthy: 2, disruptionsAllowed: 0 }),
  );
  await controller.settle();
  assert.equal(allowed(), 0);
  world.api.cache(PODS).thaw();
  world.api.put(PODS, owned('a'));
  world.clock.skip(1_000);
  await controller.settle();
  assert.equal(allowed(), 1);
});
