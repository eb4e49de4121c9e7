import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONTROLLER_REVISIONS,
  isPodReady,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import fc from 'fast-check';
import { isTerminating, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { pod, podTemplate, readyStatus, statefulSet } from '../../testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { makeReady, runKubelets } from '../../testing/kubelet-model.ts';
import { decide } from './decide.ts';
import { ordinalOf } from './identity.ts';
import { statefulSetController } from './index.ts';

const DB = { namespace: 'default', name: 'db' };
const NOW = 1_767_225_600_000;
const withImage = (image: string): Partial<StatefulSet['spec']> => ({ template: podTemplate({ app: 'db' }, image) });
const WITH_REVISIONS = statefulSetController({ resources: [CONTROLLER_REVISIONS] });
const WITHOUT_REVISIONS = statefulSetController({ resources: [] });

async function worldWith(
  set: StatefulSet,
  definition = WITH_REVISIONS,
): Promise<{ world: World; controller: DrivenController }> {
  const world = createWorld();
  await world.api.client('user').create(STATEFUL_SETS, set);
  return { world, controller: new DrivenController(world, definition) };
}

function edit(world: World, spec: Partial<StatefulSet['spec']>): void {
  const old = world.api.get(STATEFUL_SETS, DB);
  const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
  world.api.put(STATEFUL_SETS, { ...old, metadata, spec: { ...old.spec, ...spec } });
}

/** Rounds of controller and kubelets until nothing is written any more. */
async function run(
  world: World,
  controllers: readonly DrivenController[],
  check: () => void = () => {},
): Promise<void> {
  for (let round = 0; round < 80; round++) {
    const before = world.api.writes.length;
    await settleAll(controllers);
    check();
    runKubelets(world);
    world.clock.skip(6_000);
    await settleAll(controllers);
    check();
    if (world.api.writes.length === before) return;
  }
  assert.fail('never quiet');
}

const names = (world: World): readonly string[] => world.api.list(PODS).map(nameOf).sort();
const images = (world: World): readonly (string | undefined)[] =>
  [...world.api.list(PODS)].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)).map((p) => p.spec.containers[0]?.image);

test('ordered: the next pod is created only when all before it are running and ready', async () => {
  const { world, controller } = await worldWith(statefulSet());
  for (const expected of [['db-0'], ['db-0', 'db-1'], ['db-0', 'db-1', 'db-2']]) {
    await controller.settle();
    assert.deepEqual(names(world), expected);
    runKubelets(world);
  }
  await controller.settle();
  const [first] = world.api.list(PODS);
  assert.equal(first?.metadata.labels?.['statefulset.kubernetes.io/pod-name'], 'db-0');
  assert.equal(first?.metadata.labels?.['apps.kubernetes.io/pod-index'], '0');
  assert.deepEqual([first?.spec.hostname, first?.spec.subdomain], ['db-0', 'db']);
  const { status } = world.api.get(STATEFUL_SETS, DB);
  assert.deepEqual(
    [status.replicas, status.readyReplicas, status.currentReplicas, status.updatedReplicas, status.availableReplicas],
    [3, 3, 3, 3, 3],
  );
  assert.equal(status.currentRevision, status.updateRevision);
});

test('parallel: all at once, and a start ordinal shifts the names', async () => {
  const { world, controller } = await worldWith(
    statefulSet({ podManagementPolicy: 'Parallel', ordinals: { start: 5 } }),
  );
  await controller.settle();
  assert.deepEqual(names(world), ['db-5', 'db-6', 'db-7']);
});

test('[SAFE-22] [SAFE-23] [EXS-28] [DISR-22] a terminating pod keeps its name: no replacement before it is gone', async () => {
  const { world, controller } = await worldWith(statefulSet({ podManagementPolicy: 'Parallel' }));
  await run(world, [controller]);
  const lost = world.api.get(PODS, { namespace: 'default', name: 'db-1' });
  await world.api.client('user').delete(PODS, targetOf(lost));
  for (let minute = 0; minute < 30; minute++) {
    world.clock.skip(60_000);
    await controller.settle();
    assert.deepEqual(names(world), ['db-0', 'db-1', 'db-2']);
    assert.equal(uidOf(world.api.get(PODS, targetOf(lost))), uidOf(lost));
  }
  world.api.drop(PODS, targetOf(lost));
  await run(world, [controller]);
  assert.notEqual(uidOf(world.api.get(PODS, targetOf(lost))), uidOf(lost));
});

test('[SAFE-21] [LIFE-14] a force-deleted name is free at once, for a pod with its own uid', async () => {
  const { world, controller } = await worldWith(statefulSet({ replicas: 1 }));
  await run(world, [controller]);
  const old = world.api.get(PODS, { namespace: 'default', name: 'db-0' });
  await world.api.client('user').delete(PODS, targetOf(old), { gracePeriodSeconds: 0 });
  await controller.settle();
  assert.notEqual(uidOf(world.api.get(PODS, targetOf(old))), uidOf(old));
});

for (const podManagementPolicy of ['OrderedReady', 'Parallel']) {
  test(`[POD-16] ${podManagementPolicy}: a rolling update proceeds from the largest ordinal down, each pod healthy before the next`, async () => {
    const { world, controller } = await worldWith(statefulSet({ replicas: 4, podManagementPolicy }));
    await run(world, [controller]);
    edit(world, withImage('db:2'));
    const seen: string[] = [];
    await run(world, [controller], () => {
      assert.ok(world.api.list(PODS).filter((p) => !isPodReady(p) || isTerminating(p)).length <= 1, 'one at a time');
      const now = images(world).join();
      if (seen.at(-1) !== now) seen.push(now);
    });
    assert.equal(seen.at(-1), 'db:2,db:2,db:2,db:2');
    assert.ok(seen.includes('db:1,db:1,db:1,db:2'));
    const { status } = world.api.get(STATEFUL_SETS, DB);
    assert.equal(status.currentRevision, status.updateRevision);
  });
}

test('partition: ordinals below it keep the old template and are recreated with it', async () => {
  const { world, controller } = await worldWith(statefulSet());
  await run(world, [controller]);
  edit(world, { ...withImage('db:2'), updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } });
  await run(world, [controller]);
  assert.deepEqual(images(world), ['db:1', 'db:1', 'db:2']);
  const status = (): StatefulSet['status'] => world.api.get(STATEFUL_SETS, DB).status;
  assert.notEqual(status().currentRevision, status().updateRevision);
  assert.deepEqual([status().currentReplicas, status().updatedReplicas], [2, 1]);
  await world.api.client('user').delete(PODS, { namespace: 'default', name: 'db-0' });
  await run(world, [controller]);
  assert.deepEqual(images(world), ['db:1', 'db:1', 'db:2'], 'db-0 is made of the kept revision');
  edit(world, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } });
  await run(world, [controller]);
  assert.deepEqual(images(world), ['db:2', 'db:2', 'db:2']);
});

test('a name held by a relabelled pod is filled when that pod is gone', async () => {
  const { world, controller } = await worldWith(statefulSet());
  await run(world, [controller]);
  const strayed = world.api.get(PODS, { namespace: 'default', name: 'db-2' });
  world.api.put(PODS, { ...strayed, metadata: { ...strayed.metadata, labels: { app: 'strayed' } } });
  await run(world, [controller]);
  assert.equal(world.api.get(PODS, targetOf(strayed)).metadata.ownerReferences, undefined, 'it is released');
  world.api.drop(PODS, targetOf(strayed));
  await run(world, [controller]);
  assert.equal(world.api.get(PODS, targetOf(strayed)).metadata.labels?.['app'], 'db');
});

test('the newer of two revisions with one template is the current one, and neither is written', async () => {
  const { world, controller } = await worldWith(statefulSet());
  await run(world, [controller]);
  const [revision] = world.api.list(CONTROLLER_REVISIONS);
  assert.ok(revision !== undefined);
  const { uid: _own, ...metadata } = revision.metadata;
  world.api.put(CONTROLLER_REVISIONS, { ...revision, metadata: { ...metadata, name: 'db-twin' }, revision: 7 });
  await run(world, [controller]);
  const numbers = new Map(world.api.list(CONTROLLER_REVISIONS).map((each) => [nameOf(each), each.revision]));
  assert.deepEqual([numbers.size, numbers.get('db-twin'), numbers.get(nameOf(revision))], [2, 7, 1]);
  assert.equal(world.api.get(STATEFUL_SETS, DB).status.updateRevision, 'db-twin');
});

test('a recreated set adopts the revisions of its orphans, and restarts none of them', async () => {
  const { world, controller } = await worldWith(statefulSet());
  await run(world, [controller]);
  const before = world.api.list(PODS).map(uidOf).sort();
  const old = world.api.get(STATEFUL_SETS, DB);
  world.api.drop(STATEFUL_SETS, DB);
  const orphaned = <T extends { readonly metadata: object }>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: [] },
  });
  for (const each of world.api.list(PODS)) world.api.put(PODS, orphaned(each));
  for (const each of world.api.list(CONTROLLER_REVISIONS)) world.api.put(CONTROLLER_REVISIONS, orphaned(each));
  const { uid: _old, ...metadata } = old.metadata;
  const again = world.api.put(STATEFUL_SETS, { ...old, metadata, status: { replicas: 0 } });
  await run(world, [controller]);
  assert.deepEqual(world.api.list(PODS).map(uidOf).sort(), before);
  const [revision, second] = world.api.list(CONTROLLER_REVISIONS);
  assert.equal(second, undefined);
  assert.equal(revision?.metadata.ownerReferences?.[0]?.uid, uidOf(again));
});

test('a set does not adopt orphaned revisions of other owners with the same labels', async () => {
  const { world, controller } = await worldWith(statefulSet());
  await run(world, [controller]);
  const [own] = world.api.list(CONTROLLER_REVISIONS);
  assert.ok(own !== undefined);
  const { uid: _own, ownerReferences: _owners, ...metadata } = own.metadata;
  const orphan = (name: string, data: unknown): typeof own =>
    world.api.put(CONTROLLER_REVISIONS, { ...own, metadata: { ...metadata, name }, data, revision: 9 } as typeof own);
  const orphans = [orphan('cache-1', own.data), orphan('db-1', { spec: {} })];
  await run(world, [controller]);
  for (const each of orphans)
    assert.equal(world.api.get(CONTROLLER_REVISIONS, targetOf(each)).metadata.ownerReferences, undefined, nameOf(each));
});

test('updates work without ControllerRevisions', async () => {
  const { world, controller } = await worldWith(statefulSet(), WITHOUT_REVISIONS);
  await run(world, [controller]);
  edit(world, withImage('db:2'));
  await run(world, [controller]);
  assert.deepEqual(images(world), ['db:2', 'db:2', 'db:2']);
  assert.equal(world.api.list(CONTROLLER_REVISIONS).length, 0);
});

test('revisions: a rollback reuses the stored one and the history is limited', async () => {
  const { world, controller } = await worldWith(statefulSet({ replicas: 1, revisionHistoryLimit: 1 }));
  for (const image of ['db:1', 'db:2', 'db:3', 'db:2']) {
    edit(world, withImage(image));
    await run(world, [controller]);
  }
  assert.deepEqual(images(world), ['db:2']);
  const stored = world.api
    .list(CONTROLLER_REVISIONS)
    .map(({ revision }) => revision)
    .sort((a, b) => a - b);
  assert.deepEqual(stored, [3, 4], 'db:3 in the history, db:2 moved on to 4');
});

test('OnDelete keeps the pods until a user deletes them', async () => {
  const { world, controller } = await worldWith(statefulSet({ updateStrategy: { type: 'OnDelete' } }));
  await run(world, [controller]);
  edit(world, withImage('db:2'));
  await run(world, [controller]);
  assert.deepEqual(images(world), ['db:1', 'db:1', 'db:1']);
  await world.api.client('user').delete(PODS, { namespace: 'default', name: 'db-1' });
  await run(world, [controller]);
  assert.deepEqual(images(world), ['db:1', 'db:2', 'db:1']);
});

test('scale-down deletes the largest ordinal first and waits for each', async () => {
  const { world, controller } = await worldWith(statefulSet());
  await run(world, [controller]);
  edit(world, { replicas: 0 });
  for (const ending of ['db-2', 'db-1', 'db-0']) {
    await controller.settle();
    assert.deepEqual(world.api.list(PODS).filter(isTerminating).map(nameOf), [ending]);
    await controller.settle();
    runKubelets(world);
  }
  assert.deepEqual(names(world), []);
});

test('a pod that is refused repeatedly is recreated with back-off', async () => {
  const { world, controller } = await worldWith(statefulSet({ replicas: 1 }));
  const failAll = (): void => {
    for (const each of world.api.list(PODS)) world.api.put(PODS, { ...each, status: { phase: 'Failed' } });
  };
  const made = (): number =>
    world.api.writes.filter(({ verb, resource }) => verb === 'create' && resource === 'pods').length;
  for (let round = 0; round < 20; round++) {
    await controller.settle();
    failAll();
    world.clock.skip(1_000);
  }
  assert.ok(made() >= 2 && made() <= 3, `${made()} pods in 20 s`);
});

test('a failed pod is deleted and recreated under its name', async () => {
  const { world, controller } = await worldWith(statefulSet({ replicas: 1 }));
  await run(world, [controller]);
  world.clock.skip(60_000);
  const old = world.api.get(PODS, { namespace: 'default', name: 'db-0' });
  world.api.put(PODS, { ...old, status: { phase: 'Failed' } });
  await run(world, [controller]);
  assert.notEqual(uidOf(world.api.get(PODS, targetOf(old))), uidOf(old));
  assert.ok(world.api.events.some((event) => event.reason === 'RecreatingFailedPod'));
});

test('claims are created before the pod, named after it, and survive it', async () => {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: {} },
    status: {},
  };
  const { world, controller } = await worldWith(statefulSet({ replicas: 1, volumeClaimTemplates: [claim] }));
  await run(world, [controller]);
  const order = world.api.writes.filter((w) => w.verb === 'create').map((w) => `${w.resource} ${w.key}`);
  const claimAt = order.indexOf('persistentvolumeclaims default/data-db-0');
  assert.ok(claimAt >= 0 && claimAt < order.indexOf('pods default/db-0'));
  const made = world.api.get(PODS, { namespace: 'default', name: 'db-0' });
  assert.equal(made.spec.volumes?.[0]?.persistentVolumeClaim?.claimName, 'data-db-0');
  edit(world, { replicas: 0 });
  await run(world, [controller]);
  assert.equal(world.api.list(PERSISTENT_VOLUME_CLAIMS).length, 1);
});

const anyPod = fc.record({
  ordinal: fc.integer({ min: 0, max: 5 }),
  owner: fc.constantFrom('ours', 'none', 'stranger'),
  phase: fc.constantFrom('Pending', 'Running', 'Failed', 'Succeeded'),
  ready: fc.boolean(),
  terminating: fc.boolean(),
});

test('[SAFE-22] [SAFE-24] decide never creates a second pod of an ordinal, and deletes only its own', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anyPod, { selector: (p) => p.ordinal }),
      fc.integer({ min: 0, max: 5 }),
      fc.constantFrom('OrderedReady', 'Parallel'),
      fc.integer({ min: 0, max: 5 }),
      (specs, replicas, podManagementPolicy, partition) => {
        const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition } };
        const set = statefulSet(
          { replicas, podManagementPolicy, updateStrategy },
          { ...DB, uid: 'set', resourceVersion: '1' },
        );
        const reference = (uid: string) => [
          { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid, controller: true },
        ];
        const pods = specs.map((p) =>
          pod(
            {
              name: `db-${p.ordinal}`,
              uid: `uid-${p.ordinal}`,
              labels: { app: 'db' },
              ...(p.owner === 'none' ? {} : { ownerReferences: reference(p.owner === 'ours' ? 'set' : 'other') }),
              ...(p.terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
            },
            { ...(p.ready ? readyStatus('2025-01-01T00:00:00Z') : {}), phase: p.phase },
          ),
        );
        const actions = decide({ set, pods, revisions: undefined, caughtUp: true }, NOW);
        const taken = new Set(pods.map(nameOf));
        const created = actions.filter((action) => action.type === 'create-pod').map((action) => nameOf(action.pod));
        assert.equal(new Set(created).size, created.length);
        for (const name of created) assert.ok(!taken.has(name), `${name} exists`);
        const deleted = actions.filter((action) => action.type === 'delete-pod');
        for (const { pod: ended, why } of deleted) {
          assert.equal(ended.metadata.ownerReferences?.[0]?.uid, 'set');
          assert.ok(!isTerminating(ended));
          if (why === 'update') assert.ok((ordinalOf(set, ended) ?? 0) >= partition);
          if (why === 'scale-down') assert.ok((ordinalOf(set, ended) ?? 0) >= replicas);
        }
        if (podManagementPolicy === 'OrderedReady')
          assert.ok(created.length <= 1 && deleted.filter((d) => d.why !== 'failed').length <= 1);
      },
    ),
  );
});

test('[SAFE-15] [SAFE-24] [TERM-17] two managers, stale caches and lost answers: one pod per name at any time, graceful only, and it converges', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 30 }), counts: fc.boolean() }), { maxLength: 6 }),
      fc.array(fc.constantFrom('freeze', 'thaw', 'scale-up', 'scale-down', 'update', 'delete-pod', 'nodes'), {
        maxLength: 12,
      }),
      async (faults, script) => {
        const { world, controller } = await worldWith(statefulSet({ podManagementPolicy: 'Parallel' }));
        let writes = 0;
        const forced: string[] = [];
        const hit = (counts: boolean): boolean => faults.some((f) => f.at === writes && f.counts === counts);
        world.api.beforeWrite = (write) => {
          if (write.request?.gracePeriodSeconds === 0) forced.push(write.key);
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        world.api.afterWrite = () => {
          if (hit(true)) throw new TransportError('answer lost');
        };
        const controllers = [controller, new DrivenController(world, WITH_REVISIONS, world.api.newInformers())];
        let version = 1;
        for (const step of script) {
          if (step === 'freeze') world.api.cache(PODS).freeze();
          if (step === 'thaw') world.api.cache(PODS).thaw();
          if (step === 'scale-up') edit(world, { replicas: 4 });
          if (step === 'scale-down') edit(world, { replicas: 1 });
          if (step === 'update') edit(world, withImage(`db:${++version}`));
          if (step === 'nodes') runKubelets(world);
          const [first] = world.api.list(PODS);
          if (step === 'delete-pod' && first?.spec.nodeName !== undefined) {
            world.api.put(PODS, {
              ...first,
              metadata: { ...first.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
            });
          }
          for (let turn = 0; turn < 12; turn++) for (const one of controllers) await one.step();
        }
        world.api.cache(PODS).thaw();
        world.api.beforeWrite = () => {};
        world.api.afterWrite = () => {};
        await run(world, controllers);
        assert.deepEqual(forced, []);
        const replicas = world.api.get(STATEFUL_SETS, DB).spec.replicas ?? 0;
        assert.deepEqual(
          names(world),
          Array.from({ length: replicas }, (_, i) => `db-${i}`),
        );
        assert.deepEqual(new Set(images(world)), new Set([`db:${version}`]));
      },
    ),
    { numRuns: 40 },
  );
});

test('minReadySeconds delays the next ordinal until the pod has been ready for that long', async () => {
  const { world, controller } = await worldWith(statefulSet({ minReadySeconds: 20 }));
  await controller.settle();
  const [first] = world.api.list(PODS);
  assert.ok(first);
  makeReady(world, first);
  await controller.settle();
  assert.deepEqual(names(world), ['db-0']);
  world.clock.skip(20_000);
  await controller.settle();
  assert.deepEqual(names(world), ['db-0', 'db-1']);
});
