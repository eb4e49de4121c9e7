import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, type Deployment, isPodReady, PODS, REPLICA_SETS, type ReplicaSet } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import fc from 'fast-check';
import { isTerminating, nameOf, uidOf } from '../../common/meta.ts';
import { isActive } from '../../common/pods.ts';
import { deployment, podTemplate } from '../../testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { runKubelets } from '../../testing/kubelet-model.ts';
import { replicaSetController } from '../replicaset/index.ts';
import { maxReplicas, rolloutBounds } from './bounds.ts';
import { decide } from './decide.ts';
import { deploymentController } from './index.ts';
import { sizeOf } from './plan.ts';
import { buildReplicaSet, newSetAnnotations } from './revision.ts';

const WEB = { namespace: 'default', name: 'web' };
const NOW = 1_767_225_600_000;

const withImage = (image: string): Partial<Deployment['spec']> => ({ template: podTemplate({ app: 'web' }, image) });

interface Cluster {
  readonly world: World;
  readonly settle: () => Promise<void>;
}

async function clusterWith(object: Deployment): Promise<Cluster> {
  const world = createWorld();
  await world.api.client('user').create(DEPLOYMENTS, object);
  const controllers = [
    new DrivenController(world, deploymentController),
    new DrivenController(world, replicaSetController),
  ];
  return { world, settle: () => settleAll(controllers) };
}

function edit(world: World, spec: Partial<Deployment['spec']>): void {
  const old = world.api.get(DEPLOYMENTS, WEB);
  const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 1) + 1 };
  world.api.put(DEPLOYMENTS, { ...old, metadata, spec: { ...old.spec, ...spec } });
}

/** Turns the cluster until nothing changes any more, calling `check` after every round. */
async function rollOut({ world, settle }: Cluster, check: () => void = () => {}): Promise<void> {
  for (let round = 0; round < 60; round++) {
    const before = world.api.writes.length;
    await settle();
    check();
    runKubelets(world);
    world.clock.skip(1_000);
    await settle();
    check();
    if (world.api.writes.length === before) return;
  }
  assert.fail('the rollout does not end');
}

const sizes = (world: World): number => world.api.list(REPLICA_SETS).reduce((sum, set) => sum + sizeOf(set), 0);
const serving = (world: World): number =>
  world.api.list(PODS).filter((pod) => isPodReady(pod) && !isTerminating(pod)).length;

test('[POD-14] creates one ReplicaSet named by its template, with revision and size annotations', async () => {
  const cluster = await clusterWith(deployment());
  await rollOut(cluster);
  const [set, ...others] = cluster.world.api.list(REPLICA_SETS);
  assert.ok(set);
  assert.equal(others.length, 0);
  assert.match(nameOf(set), /^web-[bcdfghjklmnpqrstvwxz2456789]{10}$/);
  assert.equal(set.metadata.labels?.['pod-template-hash'], nameOf(set).slice(4));
  assert.equal(set.spec.selector.matchLabels?.['pod-template-hash'], nameOf(set).slice(4));
  assert.equal(set.metadata.annotations?.['deployment.kubernetes.io/desired-replicas'], '3');
  assert.equal(set.metadata.annotations?.['deployment.kubernetes.io/max-replicas'], '4');
  const { status, metadata } = cluster.world.api.get(DEPLOYMENTS, WEB);
  assert.equal(metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
  // Any other write of an annotation would be a new generation.
  assert.ok(!cluster.world.api.writes.some(({ verb, resource }) => verb === 'update' && resource === 'deployments'));
  assert.deepEqual(
    { ...status, conditions: status.conditions?.map((c) => `${c.type}=${c.status} ${c.reason}`) },
    {
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      conditions: ['Available=True MinimumReplicasAvailable', 'Progressing=True NewReplicaSetAvailable'],
    },
  );
  assert.equal(cluster.world.api.events[0]?.message, `Scaled up replica set ${nameOf(set)} from 0 to 3`);
});

test('[POD-15] a rolling update stays within surge and unavailability at every step and ends with the new template', async () => {
  const part = fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 100 }).map((p) => `${p}%`),
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), part, part, async (replicas, maxSurge, maxUnavailable) => {
      const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
      const cluster = await clusterWith(deployment({ replicas, strategy }));
      await rollOut(cluster);
      const object = cluster.world.api.get(DEPLOYMENTS, WEB);
      const floor = replicas - rolloutBounds(object).maxUnavailable;
      edit(cluster.world, withImage('web:2'));
      await rollOut(cluster, () => {
        assert.ok(sizes(cluster.world) <= maxReplicas(object), 'surge');
        assert.ok(serving(cluster.world) >= floor, `available ${serving(cluster.world)} under ${floor}`);
      });
      const active = cluster.world.api.list(PODS).filter(isActive);
      assert.deepEqual(
        active.map((pod) => pod.spec.containers[0]?.image),
        Array.from({ length: replicas }, () => 'web:2'),
      );
      assert.equal(
        cluster.world.api.get(DEPLOYMENTS, WEB).metadata.annotations?.['deployment.kubernetes.io/revision'],
        '2',
      );
    }),
    { numRuns: 40 },
  );
});

test('Recreate starts no new pod before the last old pod has ended', async () => {
  const cluster = await clusterWith(deployment({ strategy: { type: 'Recreate' } }));
  await rollOut(cluster);
  edit(cluster.world, withImage('web:2'));
  await cluster.settle();
  runKubelets(cluster.world, { complete: false });
  await cluster.settle();
  assert.equal(cluster.world.api.list(REPLICA_SETS).length, 1, 'old pods are still terminating');
  await rollOut(cluster, () => {
    const images = new Set(cluster.world.api.list(PODS).map((pod) => pod.spec.containers[0]?.image));
    assert.ok(images.size <= 1, 'both templates at once');
  });
  assert.equal(serving(cluster.world), 3);
});

test('scaling during a rollout is proportional and stays within the bounds', () => {
  const size = fc.integer({ min: 0, max: 20 });
  fc.assert(
    fc.property(size, size, size, size, (before, after, oldSize, newSize) => {
      const stored = (set: ReplicaSet, name: string, uid: string): ReplicaSet => ({
        ...set,
        metadata: { ...set.metadata, name, uid, resourceVersion: '1' },
      });
      const at = (replicas: number, image: string): Deployment =>
        deployment(
          { replicas, ...withImage(image) },
          { uid: 'd', name: 'web', namespace: 'default', resourceVersion: '1' },
        );
      const sets = [
        stored(buildReplicaSet(at(before, 'web:1'), 1n, oldSize), 'web-old', 'old'),
        stored(buildReplicaSet(at(before, 'web:2'), 2n, newSize), 'web-new', 'new'),
      ];
      const object = at(after, 'web:2');
      const { actions } = decide({ deployment: object, replicaSets: sets, podsOf: () => [] }, NOW);
      const result = sets.map((set) => {
        const update = actions.find((action) => action.type === 'update-set' && uidOf(action.set) === uidOf(set));
        return update?.type === 'update-set' ? sizeOf(update.set) : sizeOf(set);
      });
      const total = result.reduce((sum, one) => sum + one, 0);
      assert.ok(result.every((one) => one >= 0));
      assert.ok(total <= Math.max(maxReplicas(object), oldSize + newSize), `total ${total}`);
      if (before !== after && oldSize > 0 && newSize > 0) {
        assert.equal(total, after === 0 ? 0 : maxReplicas(object));
      }
      assert.ok(
        actions.every((action) => action.type !== 'create-set'),
        'a set of the template exists',
      );
    }),
  );
});

test('paused: no rollout, but scaling and correct conditions; resumed: the rollout continues', async () => {
  const cluster = await clusterWith(deployment());
  await rollOut(cluster);
  edit(cluster.world, { paused: true, ...withImage('web:2') });
  await rollOut(cluster);
  assert.equal(cluster.world.api.list(REPLICA_SETS).length, 1);
  const reason = (): string | undefined =>
    cluster.world.api.get(DEPLOYMENTS, WEB).status.conditions?.find((c) => c.type === 'Progressing')?.reason;
  assert.equal(reason(), 'DeploymentPaused');
  edit(cluster.world, { replicas: 5 });
  await rollOut(cluster);
  assert.equal(serving(cluster.world), 5);
  edit(cluster.world, { paused: false });
  await rollOut(cluster);
  assert.equal(reason(), 'NewReplicaSetAvailable');
  assert.equal(cluster.world.api.list(REPLICA_SETS).length, 2);
});

test('a rollback reuses the old set, increments its revision and keeps the history', async () => {
  const cluster = await clusterWith(deployment({ revisionHistoryLimit: 1 }));
  for (const image of ['web:1', 'web:2', 'web:3', 'web:1']) {
    edit(cluster.world, withImage(image));
    await rollOut(cluster);
  }
  const sets = cluster.world.api.list(REPLICA_SETS);
  assert.equal(sets.length, 2, 'one in use, one in the history');
  edit(cluster.world, withImage('web:3'));
  await rollOut(cluster);
  const current = cluster.world.api.list(REPLICA_SETS).find((set) => sizeOf(set) === 3);
  assert.equal(current?.metadata.annotations?.['deployment.kubernetes.io/revision'], '5');
  assert.equal(current?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '3');
});

test('the history of revisions has 2,000 characters at most: the oldest leave', () => {
  const KEY = 'deployment.kubernetes.io/revision-history';
  const web = deployment({}, { uid: 'web' });
  let set = buildReplicaSet(web, 1n, 3);
  for (let revision = 2n; revision <= 1_000n; revision++) {
    const annotations = newSetAnnotations(web, set, revision);
    set = { ...set, metadata: { ...set.metadata, annotations: { ...annotations } } };
  }
  const kept = set.metadata.annotations?.[KEY]?.split(',') ?? [];
  // 500 numbers of three digits and the commas between them.
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [500, '500', '999']);
  const long = { ...set.metadata.annotations, [KEY]: 'x'.repeat(5_000) };
  const shortened = newSetAnnotations(web, { ...set, metadata: { ...set.metadata, annotations: long } }, 1_001n);
  assert.equal(shortened[KEY], '1000', 'a text that somebody wrote');
});

test('a rollout without progress is reported as timed out, once', async () => {
  const cluster = await clusterWith(deployment({ progressDeadlineSeconds: 30 }));
  await cluster.settle();
  cluster.world.clock.skip(32_000);
  await cluster.settle();
  const progressing = cluster.world.api.get(DEPLOYMENTS, WEB).status.conditions?.find((c) => c.type === 'Progressing');
  assert.equal(progressing?.reason, 'ProgressDeadlineExceeded');
  assert.equal(progressing?.status, 'False');
  const writes = cluster.world.api.writes.length;
  cluster.world.clock.skip(60_000);
  await cluster.settle();
  assert.equal(cluster.world.api.writes.length, writes);
});

test('the revision of an adopted set is incremented, with all its 64 bits', async () => {
  const cluster = await clusterWith(deployment());
  const { world } = cluster;
  const owner = world.api.get(DEPLOYMENTS, WEB);
  const set = buildReplicaSet(
    { ...owner, spec: { ...owner.spec, ...withImage('web:0') } },
    3_546_343_826_724_305_832n,
    1,
  );
  const { ownerReferences: _none, ...metadata } = set.metadata;
  world.api.put(REPLICA_SETS, { ...set, metadata: { ...metadata, uid: 'adopted' } });
  await rollOut(cluster);
  const revisionOf = (object: { metadata: { annotations?: Record<string, string> } }) =>
    object.metadata.annotations?.['deployment.kubernetes.io/revision'];
  assert.equal(revisionOf(world.api.get(DEPLOYMENTS, WEB)), '3546343826724305833');
});

test('a foreign ReplicaSet under the wanted name increments collisionCount and another name is used', async () => {
  const world = createWorld();
  const object = await world.api.client('user').create(DEPLOYMENTS, deployment());
  const taken = nameOf(buildReplicaSet(object, 1n, 3));
  const stranger = buildReplicaSet(
    { ...object, ...deployment(withImage('else:1')), metadata: { ...object.metadata, uid: 'else' } },
    1n,
    0,
  );
  world.api.put(REPLICA_SETS, { ...stranger, metadata: { ...stranger.metadata, name: taken } });
  const controllers = [
    new DrivenController(world, deploymentController),
    new DrivenController(world, replicaSetController),
  ];
  await rollOut({ world, settle: () => settleAll(controllers) });
  assert.equal(world.api.get(DEPLOYMENTS, WEB).status.collisionCount, 1);
  assert.equal(serving(world), 3);
});

test('an explicit collision count of zero is kept', async () => {
  const cluster = await clusterWith(deployment());
  const stored = cluster.world.api.get(DEPLOYMENTS, WEB);
  cluster.world.api.put(DEPLOYMENTS, { ...stored, status: { ...stored.status, collisionCount: 0 } });
  await rollOut(cluster);
  const { status } = cluster.world.api.get(DEPLOYMENTS, WEB);
  assert.deepEqual([status.collisionCount, status.readyReplicas], [0, 3]);
});

test('converges to the same state when killed around any of its writes, with a second manager running', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 25 }), counts: fc.boolean() }), { maxLength: 5 }),
      async (crashes) => {
        const world = createWorld();
        await world.api.client('user').create(DEPLOYMENTS, deployment());
        let writes = 0;
        const hit = (counts: boolean): boolean => crashes.some((c) => c.at === writes && c.counts === counts);
        world.api.beforeWrite = () => {
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        world.api.afterWrite = () => {
          if (hit(true)) throw new TransportError('answer lost');
        };
        const second = world.api.newInformers();
        const controllers = [
          new DrivenController(world, deploymentController),
          new DrivenController(world, replicaSetController),
          new DrivenController(world, deploymentController, second),
          new DrivenController(world, replicaSetController, second),
        ];
        const cluster = { world, settle: () => settleAll(controllers) };
        await rollOut(cluster);
        edit(world, withImage('web:2'));
        await rollOut(cluster, () => assert.ok(sizes(world) <= 4));
        assert.equal(world.api.list(REPLICA_SETS).length, 2);
        assert.equal(serving(world), 3);
        assert.equal(world.api.list(PODS).filter(isActive).length, 3);
        for (const write of world.api.writes) assert.notEqual(write.request?.gracePeriodSeconds, 0);
      },
    ),
    { numRuns: 40 },
  );
});
