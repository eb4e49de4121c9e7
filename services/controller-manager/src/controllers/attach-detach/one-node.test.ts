import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isAttachedForPod,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  podOfVolumeInUse,
} from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { uidOf } from '../../common/meta.ts';
import { node } from '../../testing/builders.ts';
import type { World } from '../../testing/harness.ts';
import { RivalManagers } from '../../testing/mortal-manager.ts';
import { DATA, disturb, KubeletModel, NODE_NAMES, podOn } from '../../testing/one-node-model.ts';
import { claim, volume } from '../../testing/volume-builders.ts';
import { attachDetachController } from './index.ts';

const SEEDS = 30;
const STEPS = 160;

function prepare(world: World): void {
  const { api } = world;
  for (const name of NODE_NAMES) api.put(NODES, node(name));
  const bound = api.put(PERSISTENT_VOLUME_CLAIMS, claim('data', { volumeName: 'data' }));
  const claimRef = { namespace: 'default', name: 'data', uid: uidOf(bound) };
  const { hostPath: _local, ...spec } = volume('data', { nfs: { server: 's', path: '/' }, claimRef }).spec;
  api.put(PERSISTENT_VOLUMES, { ...volume('data'), spec, status: { phase: 'Bound' } });
}

function check(world: World, kubelets: readonly KubeletModel[], seed: string): void {
  const using = NODE_NAMES.filter((_name, i) => (kubelets[i]?.running.size ?? 0) > 0);
  assert.ok(using.length <= 1, `${seed}: processes on ${using.join(' and ')}`);
  const { attachment } = world.api.get(PERSISTENT_VOLUMES, DATA).status;
  if (using.length === 1) assert.equal(attachment?.nodeName, using[0], `${seed}: used where it is not attached`);
}

const settle = async (managers: RivalManagers): Promise<void> => {
  managers.world.clock.skip(60_000);
  await managers.turn();
};

test('[RWO-15] [RWO-16] [TEST-04] two controllers with stale caches, slow nodes and force deletions: never processes on two nodes, a new token with every attachment, and a pod runs in the end', async () => {
  let moves = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = createSeededRandom(seed, 'attach');
    const managers = new RivalManagers([attachDetachController], seed);
    const { world } = managers;
    prepare(world);
    const isNamed = (nodeName: string, uid: string): boolean =>
      isAttachedForPod(world.api.get(PERSISTENT_VOLUMES, DATA), nodeName, uid);
    const kubelets = NODE_NAMES.map((name) => new KubeletModel(world, name, isNamed));
    let last = '';
    let [attachedAt, token] = ['', 0];
    const look = (): void => {
      check(world, kubelets, `seed ${seed}`);
      const { attachment, fencingToken = 0 } = world.api.get(PERSISTENT_VOLUMES, DATA).status;
      const now = attachment?.nodeName ?? last;
      const isAnother = attachment !== undefined && `${now} ${attachment.attachedAt ?? ''}` !== attachedAt;
      assert.ok(fencingToken >= token, `seed ${seed}: the token went from ${token} back to ${fencingToken}`);
      assert.ok(!isAnother || fencingToken > token, `seed ${seed}: attached again with the token ${token}`);
      if (attachment !== undefined) attachedAt = `${now} ${attachment.attachedAt ?? ''}`;
      token = fencingToken;
      if (now !== last) moves++;
      last = now;
    };
    // Random events between any two writes of the controllers.
    world.api.beforeWrite = ({ identity }) => {
      if (identity === 'user') return;
      for (let i = random.int(12); i > 0; i--) kubelets[random.int(2)]?.step(random);
      look();
    };
    for (let step = 0; step < STEPS; step++) {
      if (step % 10 === 0) for (const kubelet of kubelets) kubelet.isStalled = random.int(3) === 0;
      if (random.int(2) === 0) disturb(world, random, step);
      else kubelets[random.int(2)]?.step(random);
      look();
      if (step % 4 === 0) await managers.turn();
      look();
    }
    for (const kubelet of kubelets) kubelet.isStalled = false;
    world.api.put(PODS, podOn('b', 'last'));
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < 40; i++) for (const kubelet of kubelets) kubelet.step(random);
      await settle(managers);
      look();
    }
    assert.ok(
      kubelets.some(({ running }) => running.size > 0),
      `seed ${seed}: nobody runs`,
    );
    for (const entry of world.api.list(NODES).flatMap(({ status }) => status.volumesInUse ?? []))
      assert.ok(podOfVolumeInUse(entry) !== undefined);
  }
  assert.ok(moves > SEEDS, `the volume moved ${moves} times`);
});
