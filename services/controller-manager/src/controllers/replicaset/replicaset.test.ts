import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS, type Pod, REPLICA_SETS, type ReplicaSet } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import fc from 'fast-check';
import { isControlledBy, isTerminating, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { pod, podTemplate, readyStatus, replicaSet } from '../../testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { decidePods, type ReplicaSetSnapshot } from './decide.ts';
import { replicaSetController } from './index.ts';

const NOW = 1_767_225_600_000;
const OWNED = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs-1', controller: true }];
const STRANGER = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'other', uid: 'rs-2', controller: true }];

const snapshotOf = (set: ReplicaSet, pods: readonly Pod[], caughtUp = true): ReplicaSetSnapshot => ({
  replicaSet: { ...set, metadata: { ...set.metadata, uid: 'rs-1', resourceVersion: '1' } },
  pods,
  caughtUp,
  unansweredDeletes: new Set(),
  avoidedNames: new Set(),
  relatedPodsPerNode: () => new Map(),
});

const activePods = (world: World): readonly Pod[] => world.api.list(PODS).filter(isActive);

const anyPod = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
  owner: fc.constantFrom('ours', 'none', 'stranger'),
  labelled: fc.boolean(),
  phase: fc.constantFrom('Pending', 'Running', 'Failed', 'Succeeded'),
  terminating: fc.boolean(),
  ready: fc.boolean(),
  node: fc.constantFrom('', 'node-a', 'node-b'),
});

const anyPods = fc.uniqueArray(anyPod, { selector: (p) => p.name, maxLength: 8 }).map((list) =>
  list.map((p) =>
    pod(
      {
        name: p.name,
        uid: `uid-${p.name}`,
        resourceVersion: '5',
        labels: p.labelled ? { app: 'web' } : { app: 'else' },
        ...(p.owner === 'none' ? {} : { ownerReferences: p.owner === 'ours' ? OWNED : STRANGER }),
        ...(p.terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      },
      { ...readyStatus('2025-12-31T00:00:00Z'), phase: p.phase, ...(p.ready ? {} : { conditions: [] }) },
      { nodeName: p.node },
    ),
  ),
);

test('[POD-06] [POD-14] decide reaches exactly the desired number and does not touch foreign pods', () => {
  fc.assert(
    fc.property(anyPods, fc.integer({ min: 0, max: 8 }), (pods, replicas) => {
      const actions = decidePods(snapshotOf(replicaSet({ replicas }), pods), NOW);
      for (const { pod: touched, type } of actions) {
        assert.ok(!isControlledBy(touched, 'rs-2'), `${type} of a stranger's pod`);
        if (type === 'delete-pod') assert.ok(isControlledBy(touched, 'rs-1') && isActive(touched));
        if (type === 'adopt-pod') assert.equal(touched.metadata.labels?.app, 'web');
      }
      const of = (type: string): number => actions.filter((action) => action.type === type).length;
      const owned = pods.filter((p) => isActive(p) && isControlledBy(p, 'rs-1') && p.metadata.labels?.app === 'web');
      const after = owned.length + of('adopt-pod') + of('create-pod') - of('delete-pod');
      if (of('adopt-pod') === 0) assert.equal(after, replicas);
      assert.ok(after >= replicas, 'never below the desired number');
      const names = new Set(pods.map(nameOf));
      for (const action of actions) if (action.type === 'create-pod') assert.ok(!names.has(nameOf(action.pod)));
    }),
  );
});

test('[POD-06] an adopted pod counts, and only missing pods are created', () => {
  const labels = { app: 'web' };
  const orphan = pod({ name: 'orphan', uid: 'o', labels }, { phase: 'Running' });
  const owned = pod({ name: 'owned', uid: 'p', labels, ownerReferences: OWNED }, { phase: 'Running' });
  const typesFor = (replicas: number): readonly string[] =>
    decidePods(snapshotOf(replicaSet({ replicas }), [orphan, owned]), NOW).map(({ type }) => type);
  assert.deepEqual(typesFor(2), ['adopt-pod']);
  assert.deepEqual(typesFor(3), ['adopt-pod', 'create-pod']);
});

test('[POD-14] a pod matches the template, and belongs to its ReplicaSet', () => {
  const plain = podTemplate({ app: 'web' });
  const [first] = plain.spec.containers;
  assert.ok(first);
  const template = {
    metadata: { labels: { app: 'web', tier: 'front' }, annotations: { note: 'n' } },
    spec: { ...plain.spec, containers: [first, { ...first, name: 'second' }], nodeSelector: { disk: 'ssd' } },
  };
  const [action, ...others] = decidePods(snapshotOf(replicaSet({ replicas: 1, template }), []), NOW);
  assert.ok(action?.type === 'create-pod');
  assert.deepEqual(others, []);
  const { metadata, spec } = action.pod;
  assert.deepEqual(
    [metadata.labels, metadata.annotations, spec],
    [template.metadata.labels, { note: 'n' }, template.spec],
  );
  const [owner] = metadata.ownerReferences ?? [];
  assert.deepEqual([owner?.kind, owner?.name, owner?.uid, owner?.controller], ['ReplicaSet', 'web', 'rs-1', true]);
});

test('[POD-14] a surplus pod of another controller is not deleted', () => {
  const labels = { app: 'web' };
  const theirs = pod({ name: 'theirs', uid: 't', labels, ownerReferences: STRANGER }, { phase: 'Running' });
  const ours = pod({ name: 'ours', uid: 'o', labels, ownerReferences: OWNED }, { phase: 'Running' });
  const actions = decidePods(snapshotOf(replicaSet({ replicas: 0 }), [theirs, ours]), NOW);
  assert.deepEqual(
    actions.map(({ type, pod: touched }) => [type, nameOf(touched)]),
    [['delete-pod', 'ours']],
  );
});

test('decide neither creates nor deletes while the cache lags behind its own writes', () => {
  fc.assert(
    fc.property(anyPods, fc.integer({ min: 0, max: 8 }), (pods, replicas) => {
      const actions = decidePods(snapshotOf(replicaSet({ replicas }), pods, false), NOW);
      assert.deepEqual(
        actions.filter((action) => action.type === 'create-pod' || action.type === 'delete-pod'),
        [],
      );
    }),
  );
});

test('decide returns the same names for the same input in every process', () => {
  const names = (): string[] => decidePods(snapshotOf(replicaSet(), []), NOW).map((action) => nameOf(action.pod));
  assert.deepEqual(names(), names());
  assert.equal(new Set(names()).size, 3);
  for (const name of names()) assert.match(name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test('scale-down deletes unassigned, unready, cheap and newest pods first', () => {
  const at = (name: string, status: Pod['status'], extra: Partial<Pod['metadata']> = {}, nodeName = 'n'): Pod =>
    pod(
      {
        name,
        uid: name,
        labels: { app: 'web' },
        ownerReferences: OWNED,
        creationTimestamp: '2025-12-01T00:00:00Z',
        ...extra,
      },
      status,
      { nodeName },
    );
  const ready = readyStatus('2025-12-31T00:00:00Z');
  const cost = { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-5' } };
  const pods = [
    at('old', readyStatus('2024-01-01T00:00:00Z')),
    at('young', readyStatus('2025-12-31T23:59:00Z')),
    at('cheap', ready, cost),
    at('unready', { phase: 'Running' }),
    at('pending', { phase: 'Pending' }),
    at('unassigned', { phase: 'Pending' }, {}, ''),
  ];
  const order: string[] = [];
  for (let keep = 5; keep >= 0; keep--) {
    const actions = decidePods(snapshotOf(replicaSet({ replicas: keep }), pods), NOW);
    order.push(nameOf(actions.at(-1)?.pod ?? pods[0] ?? at('none', {})));
  }
  assert.deepEqual(order, ['unassigned', 'pending', 'unready', 'cheap', 'young', 'old']);
});

async function worldWith(set: ReplicaSet): Promise<{ world: World; controller: DrivenController }> {
  const world = createWorld();
  await world.api.client('user').create(REPLICA_SETS, set);
  return { world, controller: new DrivenController(world, replicaSetController) };
}

test('[TERM-09] [EXS-28] [SAFE-25] a replacement exists while the deleted pod is still running', async () => {
  const { world, controller } = await worldWith(replicaSet({ replicas: 1 }));
  await controller.settle();
  runKubelets(world);
  await controller.settle();
  const [first] = world.api.list(PODS);
  assert.ok(first);
  await world.api.client('user').delete(PODS, targetOf(first));
  await controller.settle();
  assert.equal(world.api.list(PODS).length, 2);
  assert.equal(activePods(world).length, 1);
  assert.ok(isTerminating(world.api.get(PODS, targetOf(first))));
  const { replicas, readyReplicas } = world.api.list(REPLICA_SETS)[0]?.status ?? {};
  assert.deepEqual([replicas, readyReplicas], [1, undefined], 'the one that leaves counts for nothing');
});

test('[POD-13] [GC-01] a failed pod is replaced, and its object stays until it is deleted', async () => {
  const { world, controller } = await worldWith(replicaSet({ replicas: 2 }));
  await controller.settle();
  const [first] = world.api.list(PODS);
  assert.ok(first);
  world.api.put(PODS, { ...first, status: { phase: 'Failed' } });
  await controller.settle();
  assert.equal(activePods(world).length, 2);
  const running = world.api.list(PODS).filter(({ status }) => status.phase !== 'Failed');
  assert.equal(running.length, 2, 'beside the one that failed');
  world.clock.skip(86_400_000);
  await controller.settle();
  assert.equal(world.api.get(PODS, targetOf(first)).status.phase, 'Failed');
});

test('neither a frozen cache nor a second manager causes a second pod', async () => {
  const { world, controller } = await worldWith(replicaSet({ replicas: 3 }));
  const other = new DrivenController(world, replicaSetController, world.api.newInformers());
  world.api.cache(PODS).freeze();
  await settleAll([controller, other]);
  assert.equal(activePods(world).length, 3);
  world.clock.skip(60_000);
  await settleAll([controller, other]);
  assert.equal(activePods(world).length, 3);
  world.api.cache(PODS).thaw();
  await settleAll([controller, other]);
  assert.equal(activePods(world).length, 3);
});

test('[SAFE-15] converges after being killed before or after any of its writes, and deletes gracefully only', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 0, max: 12 }), counts: fc.boolean() }), { maxLength: 4 }),
      fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 4 }),
      async (crashes, sizes) => {
        const { world, controller } = await worldWith(replicaSet({ replicas: 0 }));
        let running = controller;
        let writes = 0;
        const hit = (counts: boolean): boolean => crashes.some((c) => c.at === writes && c.counts === counts);
        world.api.beforeWrite = () => {
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        world.api.afterWrite = () => {
          if (hit(true)) throw new TransportError('answer lost');
        };
        for (const replicas of sizes) {
          const set = world.api.get(REPLICA_SETS, { namespace: 'default', name: 'web' });
          world.api.put(REPLICA_SETS, { ...set, spec: { ...set.spec, replicas } });
          await running.step();
          running.kill();
          running = new DrivenController(world, replicaSetController);
          await running.settle();
          runKubelets(world);
          await running.settle();
          assert.equal(activePods(world).length, replicas);
        }
        const status = world.api.get(REPLICA_SETS, { namespace: 'default', name: 'web' }).status;
        assert.equal(status.readyReplicas ?? 0, sizes.at(-1));
        for (const write of world.api.writes) assert.notEqual(write.request?.gracePeriodSeconds, 0);
      },
    ),
    { numRuns: 60 },
  );
});

test('adopts a matching orphan instead of creating a pod, releases pods that no longer match', async () => {
  const world = createWorld();
  const client = world.api.client('user');
  await client.create(PODS, pod({ name: 'stray', labels: { app: 'web' } }, { phase: 'Running' }, { nodeName: 'n' }));
  const set = await client.create(REPLICA_SETS, replicaSet({ replicas: 1 }));
  const controller = new DrivenController(world, replicaSetController);
  await controller.settle();
  const stray = world.api.get(PODS, { namespace: 'default', name: 'stray' });
  assert.ok(isControlledBy(stray, uidOf(set)));
  assert.equal(world.api.list(PODS).length, 1);
  world.api.put(PODS, { ...stray, metadata: { ...stray.metadata, labels: { app: 'debug' } } });
  await controller.settle();
  assert.equal(world.api.get(PODS, { namespace: 'default', name: 'stray' }).metadata.ownerReferences, undefined);
  assert.equal(activePods(world).length, 2);
});

test('a refused template causes one create per pass and is reported in status and event', async () => {
  const { world, controller } = await worldWith(replicaSet({ replicas: 100 }));
  let creates = 0;
  world.api.beforeWrite = (write) => {
    if (write.verb !== 'create') return;
    creates++;
    throw new TransportError('no answer');
  };
  await controller.step();
  assert.equal(creates, 1);
  const status = world.api.get(REPLICA_SETS, { namespace: 'default', name: 'web' }).status;
  assert.equal(status.conditions?.[0]?.reason, 'FailedCreate');
  assert.equal(world.api.events.at(-1)?.message, 'Error creating: no answer');
});

test('a name collision with a foreign pod is avoided', async () => {
  const { world, controller } = await worldWith(replicaSet({ replicas: 1, template: podTemplate() }));
  const set = world.api.get(REPLICA_SETS, { namespace: 'default', name: 'web' });
  const wanted = decidePods({ ...snapshotOf(set, []), replicaSet: set }, NOW)[0]?.pod;
  assert.ok(wanted);
  world.api.put(PODS, pod({ name: nameOf(wanted), ownerReferences: STRANGER }));
  await controller.settle();
  assert.equal(world.api.list(PODS).filter((p) => isControlledBy(p, uidOf(set))).length, 1);
});

test('ten thousand pods of one set: passes, writes and reads stay proportional', async () => {
  const size = 10_000;
  const { world, controller } = await worldWith(replicaSet({ replicas: size }));
  const cache = world.api.cache(PODS);
  let looks = 0;
  const byIndex = cache.byIndex.bind(cache);
  cache.byIndex = (index, value) => {
    const found = byIndex(index, value);
    looks += found.length;
    return found;
  };
  const settle = async (isDone: () => boolean): Promise<void> => {
    for (let second = 0; second < 100 && !isDone(); second++) {
      await controller.settle();
      world.clock.skip(1_000);
    }
    assert.ok(isDone());
  };
  await settle(() => world.api.list(PODS).length === size);
  runKubelets(world);
  const status = (): ReplicaSet['status'] => world.api.get(REPLICA_SETS, { namespace: 'default', name: 'web' }).status;
  await settle(() => status().readyReplicas === size);
  assert.ok(world.api.writes.length < size + 100, `${world.api.writes.length} writes`);
  assert.ok(looks < 100 * size, `${looks / size} looks at each pod`);
});

test('pods refused right after their creation are recreated with back-off, and the set recovers by itself', async () => {
  const world = createWorld();
  await world.api.client('user').create(REPLICA_SETS, replicaSet({ replicas: 2 }));
  const controller = new DrivenController(world, replicaSetController);
  const made = (): number =>
    world.api.writes.filter(({ verb, resource }) => verb === 'create' && resource === 'pods').length;
  for (let second = 0; second < 25; second++) {
    await controller.settle();
    for (const each of activePods(world)) world.api.put(PODS, { ...each, status: { phase: 'Failed' } });
    world.clock.skip(1_000);
  }
  assert.ok(made() > 4 && made() <= 12, `${made()} pods in 25 s`);
});
