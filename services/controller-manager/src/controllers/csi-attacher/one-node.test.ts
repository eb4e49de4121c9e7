import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CSI_NODES,
  isAttached,
  isAttachedForPod,
  NODES,
  needsAttach,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  VOLUME_ATTACHMENTS,
} from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import { uidOf } from '../../common/meta.ts';
import { DriverError } from '../../csi/port.ts';
import { node } from '../../testing/builders.ts';
import { CsiDriverModel, MODEL_DRIVER } from '../../testing/csi-driver-model.ts';
import type { World } from '../../testing/harness.ts';
import { RivalManagers } from '../../testing/mortal-manager.ts';
import { DATA, disturb, KubeletModel, NODE_NAMES, podOn } from '../../testing/one-node-model.ts';
import { claim, volume } from '../../testing/volume-builders.ts';
import { attachDetachController } from '../attach-detach/index.ts';
import { csiAttacherController } from './index.ts';

const SEEDS = 20;
const STEPS = 120;
const SOURCE = { driver: MODEL_DRIVER, volumeHandle: 'vol-1' };

function prepare(world: World, mode: string): void {
  const { api } = world;
  for (const name of NODE_NAMES) {
    api.put(NODES, node(name));
    const drivers = [{ name: MODEL_DRIVER, nodeID: name }];
    api.put(CSI_NODES, { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } });
  }
  const bound = api.put(PERSISTENT_VOLUME_CLAIMS, claim('data', { volumeName: 'data' }));
  const claimRef = { namespace: 'default', name: 'data', uid: uidOf(bound) };
  const { hostPath: _local, ...spec } = volume('data', { csi: SOURCE, claimRef, accessModes: [mode] }).spec;
  api.put(PERSISTENT_VOLUMES, { ...volume('data'), spec, status: { phase: 'Bound' } });
}

/** As the kubelet reads it: the volume and the VolumeAttachment, past every cache. */
const mayStart =
  ({ api }: World) =>
  (nodeName: string, uid: string): boolean => {
    const met = api.get(PERSISTENT_VOLUMES, DATA);
    const attachment = api.list(VOLUME_ATTACHMENTS).find(({ spec }) => spec.nodeName === nodeName);
    if (attachment === undefined || !isAttached(attachment)) return false;
    return !needsAttach(met) || isAttachedForPod(met, nodeName, uid);
  };

for (const mode of ['ReadWriteOnce', 'ReadWriteMany']) {
  test(`[RWO-15] [RWO-20] [TEST-04] a ${mode} volume of a driver, two controllers with stale caches, lost answers and force deletions: it is never detached under a process`, async () => {
    let detaches = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = createSeededRandom(seed, `csi ${mode}`);
      const driver = new CsiDriverModel();
      driver.disks.set('vol-1', { name: 'data', bytes: 1, nodes: new Set() });
      const drivers = new Map([[MODEL_DRIVER, driver]]);
      const managers = new RivalManagers([attachDetachController, csiAttacherController(drivers)], seed);
      const { world } = managers;
      prepare(world, mode);
      const kubelets = NODE_NAMES.map((name) => new KubeletModel(world, name, mayStart(world)));
      const look = (): void => {
        const using = NODE_NAMES.filter((_name, i) => (kubelets[i]?.running.size ?? 0) > 0);
        assert.ok(mode === 'ReadWriteMany' || using.length <= 1, `seed ${seed}: processes on ${using.join(' and ')}`);
        const { nodes } = driver.disk('vol-1');
        for (const name of using) assert.ok(nodes.has(name), `seed ${seed}: detached under a process of ${name}`);
      };
      const play = (): void => {
        for (let i = random.int(8); i > 0; i--) kubelets[random.int(2)]?.step(random);
        look();
      };
      world.api.beforeWrite = ({ identity }) => (identity === 'user' ? undefined : play());
      const lose = (): void => {
        play();
        if (random.int(6) === 0) throw new DriverError('lost', { isRefusal: false });
      };
      driver.before = lose;
      driver.after = lose;
      for (let step = 0; step < STEPS; step++) {
        if (step % 10 === 0) for (const kubelet of kubelets) kubelet.isStalled = random.int(3) === 0;
        if (random.int(2) === 0) disturb(world, random, step);
        else kubelets[random.int(2)]?.step(random);
        look();
        if (step % 4 === 0) await managers.turn();
        if (step % 12 === 0) world.clock.skip(40_000);
        look();
      }
      driver.before = () => {};
      driver.after = () => {};
      for (const kubelet of kubelets) kubelet.isStalled = false;
      world.api.put(PODS, podOn('b', 'last'));
      for (let round = 0; round < 20; round++) {
        for (let i = 0; i < 40; i++) for (const kubelet of kubelets) kubelet.step(random);
        world.clock.skip(60_000);
        await managers.turn();
        look();
      }
      assert.ok(
        kubelets.some(({ running }) => running.size > 0),
        `seed ${seed}: nobody runs`,
      );
      detaches += driver.calls.filter((call) => call.startsWith('detach')).length;
    }
    assert.ok(detaches > SEEDS, `detached ${detaches} times`);
  });
}
