import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES, PODS } from '@holdfast/api';
import { type ProcessFact, SimulationFailure } from '@holdfast/testing';
import { heal, LAPSE_MS, type Loss, lose, recoveryMs, setScene } from './self-fencing-scenario.ts';
import { SETTLE_DEADLINE_MS } from './world.ts';

const SEEDS = [1, 2, 3];
const LOSSES: readonly Loss[] = ['cut-off', 'cut-from-masters', 'kubelet-dead'];
const RECOVERY_MAX_MS = 20_000;
const PET = { namespace: 'default', name: 'db-1' };

for (const how of LOSSES)
  for (const seed of SEEDS) {
    test(`[SAFE-22] [FENCE-10] [FENCE-11] a node with a promise is lost (${how}): its pet runs elsewhere within 20 s, never twice, and the node comes back (seed ${seed})`, async () => {
      const scene = await setScene({ seed });
      const { cluster, world, lost, pet } = scene;
      lose(scene, how);
      const tookMs = await recoveryMs(scene);
      assert.ok(tookMs <= RECOVERY_MAX_MS, `${tookMs} ms`);
      assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name).includes(lost), false);
      await cluster.kernel.runFor(60_000);
      const isAsked = world.pods('web').some(({ metadata }) => metadata.deletionTimestamp !== undefined);
      assert.ok(!isAsked, 'what is not exclusive waits as ever');
      if (how === 'kubelet-dead') cluster.restartKubelet(lost);
      else cluster.network.rejoin(lost);
      await heal(scene);
      assert.notEqual(world.pod(PET.name).metadata.uid, pet.metadata.uid);
    });
  }

test('[SAFE-32] without a promise the pet of a lost node waits, and its process lives on', async () => {
  const scene = await setScene({ seed: 1, selfFencing: undefined });
  const { cluster, world, lost, pet } = scene;
  lose(scene, 'cut-off');
  await cluster.kernel.runFor(10 * 60_000);
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.equal(world.pod(PET.name).metadata.uid, pet.metadata.uid);
  assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name), [lost]);
});

for (const seed of SEEDS) {
  test(`a planted bug is found: nodes promise, and no watchdog enforces the deadline (seed ${seed})`, async () => {
    const scene = await setScene({ seed, selfFencing: { policy: 'exclusive', guard: 'broken' } });
    lose(scene, 'cut-off');
    await assert.rejects(
      recoveryMs(scene),
      (error) => error instanceof SimulationFailure && /runs 2 times/.test(error.message),
    );
  });
}

for (const seed of SEEDS) {
  test(`[SAFE-29] a cut that is shorter than the promise ends nothing (seed ${seed})`, async () => {
    const scene = await setScene({ seed });
    const { cluster, world, lost, pet } = scene;
    const starts = cluster.oracle.startCount;
    cluster.network.isolate(lost);
    await cluster.kernel.runFor(3_000);
    cluster.network.rejoin(lost);
    await cluster.kernel.runFor(60_000);
    await world.until('a look', SETTLE_DEADLINE_MS, () => true);
    assert.equal(world.pod(PET.name).metadata.uid, pet.metadata.uid);
    assert.equal(cluster.oracle.startCount, starts, 'no process of a pet began anew');
  });
}

for (const seed of SEEDS) {
  test(`[SAFE-33] an API outage longer than the promise ends the processes of pets, and moves none (seed ${seed})`, async () => {
    const scene = await setScene({ seed });
    const { cluster, world } = scene;
    const uids = (): readonly unknown[] => ['db-0', 'db-1', 'db-2'].map((name) => world.pod(name).metadata.uid);
    const before = uids();
    cluster.network.isolate('apiserver');
    await cluster.kernel.runFor(2 * LAPSE_MS);
    for (const name of ['db-0', 'db-1', 'db-2']) assert.deepEqual(cluster.oracle.nodesOf('default', name), []);
    cluster.network.rejoin('apiserver');
    await world.until('every pet runs again', 60_000, () => world.isUp('db', 3));
    assert.deepEqual(uids(), before);
  });
}

test('[FENCE-06] a node that comes back during its release keeps pods that were not deleted, and starts none that were', async () => {
  for (let afterMs = 8_000; afterMs <= 13_000; afterMs += 500) {
    const scene = await setScene({ seed: afterMs });
    const { cluster, lost } = scene;
    lose(scene, 'cut-off');
    await cluster.kernel.runFor(afterMs);
    cluster.network.rejoin(lost);
    await scene.world.until('every pet runs', 60_000, () => scene.world.isUp('db', 3));
    await cluster.kernel.runFor(30_000);
  }
});

test('a kubelet killed and restarted within the promise ends nothing', async () => {
  const scene = await setScene({ seed: 7 });
  const { cluster, world, lost, pet } = scene;
  const starts = cluster.oracle.startCount;
  cluster.restartKubelet(lost);
  await cluster.kernel.runFor(60_000);
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.equal(world.pod(PET.name).metadata.uid, pet.metadata.uid);
  assert.equal(cluster.oracle.startCount, starts);
});

test('[FENCE-09] [SAFE-19] a user who deletes the Node of a lost machine releases it as usual, also where finished pods are never removed', async () => {
  const scene = await setScene({ seed: 3, terminatedPodThreshold: 0 });
  const { cluster, world, lost, pet } = scene;
  lose(scene, 'cut-off');
  await cluster.kernel.runFor(LAPSE_MS);
  await cluster.ask(cluster.admin.delete(NODES, { name: lost }));
  await world.until('the pet runs again', 180_000, () => world.findPod(PET.name)?.metadata.uid !== pet.metadata.uid);
  await cluster.ask(cluster.admin.find(PODS, PET));
  cluster.network.rejoin(lost);
  await cluster.kernel.runFor(60_000);
});

test('[SAFE-32] [SAFE-22] pets of a namespace that excludes them from promises live on behind a cut, and wait for their node', async () => {
  const scene = await setScene({ seed: 4, ofNamespace: 'off' });
  const { cluster, world, lost, pet } = scene;
  const starts = cluster.oracle.startCount;
  lose(scene, 'cut-off');
  await cluster.kernel.runFor(4 * 60_000);
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.equal(world.pod(PET.name).metadata.uid, pet.metadata.uid, 'the name is not released by the promise');
  assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name), [lost]);
  cluster.network.rejoin(lost);
  await heal(scene);
  assert.equal(world.pod(PET.name).metadata.uid, pet.metadata.uid);
  assert.equal(cluster.oracle.startCount, starts);
});

test('[SAFE-22] a namespace may have all its pods covered: those of a Deployment end with the promise of their node, too', async () => {
  const ended = new Set<string>();
  const observe = ({ kind, podUid }: ProcessFact): void => void (kind === 'ended' && ended.add(podUid));
  const scene = await setScene({ seed: 5, ofNamespace: 'all', observe });
  const { cluster, world } = scene;
  const [web] = world.pods('web');
  const { name = '', uid = '' } = web?.metadata ?? {};
  const lost = web?.spec.nodeName ?? '';
  lose({ ...scene, lost }, 'cut-off');
  await cluster.kernel.runFor(LAPSE_MS);
  assert.ok(ended.has(uid), 'its watchdog has ended it');
  const isReplaced = (): boolean => world.findPod(name) === undefined && world.isUp('web', 3);
  await world.until('it is released and replaced', RECOVERY_MAX_MS, isReplaced);
  cluster.network.rejoin(lost);
  await heal({ ...scene, lost });
});
