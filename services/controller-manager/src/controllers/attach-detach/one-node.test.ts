import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Pod,
  podOfVolumeInUse,
  volumeInUse,
} from '@holdfast/api';
import { createSeededRandom, type Random } from '@holdfast/platform';
import { isTerminating, targetOf, uidOf } from '../../common/meta.ts';
import { node, pod } from '../../testing/builders.ts';
import type { World } from '../../testing/harness.ts';
import { RivalManagers } from '../../testing/mortal-manager.ts';
import { claim, volume } from '../../testing/volume-builders.ts';
import { attachDetachController } from './index.ts';

const SEEDS = 30;
const STEPS = 160;
const DATA = { name: 'data' };
const VOLUMES = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
const NODE_NAMES = ['a', 'b'] as const;

/** The kubelet's order: reports the use, reads whether its pod is named, then starts; and the reverse to stop. */
class KubeletModel {
  readonly #world: World;
  readonly #name: string;
  readonly running = new Set<string>();
  readonly #said = new Set<string>();
  readonly #seen = new Map<string, Pod>();
  readonly #unwanted = new Set<string>();
  isStalled = false;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
  }

  /** Runs one step of one random pod on this node's possibly stale state. */
  step(random: Random): void {
    if (this.isStalled) return;
    const { api } = this.#world;
    for (const each of api.list(PODS)) {
      if (each.spec.nodeName === this.#name && !this.#seen.has(uidOf(each))) this.#seen.set(uidOf(each), each);
    }
    const uids = [...this.#seen.keys()];
    const uid = uids[random.int(Math.max(1, uids.length))];
    const met = uid === undefined ? undefined : this.#seen.get(uid);
    if (uid === undefined || met === undefined) return;
    if (random.int(3) === 0) this.#hear(uid, met);
    else if (this.#unwanted.has(uid)) this.#back(uid);
    else this.#forward(uid);
  }

  #hear(uid: string, met: Pod): void {
    const live = this.#world.api.find(PODS, targetOf(met));
    if (live?.metadata.uid !== uid || isTerminating(live)) this.#unwanted.add(uid);
  }

  #forward(uid: string): void {
    if (this.running.has(uid)) return;
    if (!this.#said.has(uid)) this.#say(() => this.#said.add(uid));
    else if (this.#isNamed(uid)) this.running.add(uid);
  }

  #back(uid: string): void {
    const { api } = this.#world;
    if (this.running.delete(uid)) return;
    if (this.#said.has(uid)) return this.#say(() => this.#said.delete(uid));
    const live = api.list(PODS).find((each) => uidOf(each) === uid);
    if (live !== undefined) api.drop(PODS, targetOf(live));
    this.#seen.delete(uid);
  }

  #isNamed(uid: string): boolean {
    const { attachment } = this.#world.api.get(PERSISTENT_VOLUMES, DATA).status;
    return attachment?.nodeName === this.#name && (attachment.pods ?? []).some((user) => user.uid === uid);
  }

  #say(change: () => void): void {
    change();
    const { api } = this.#world;
    const met = api.get(NODES, { name: this.#name });
    const volumesInUse = [...this.#said].map((uid) => volumeInUse('data', uid));
    api.put(NODES, { ...met, status: { ...met.status, volumesInUse } });
  }
}

function prepare(world: World): void {
  const { api } = world;
  for (const name of NODE_NAMES) api.put(NODES, node(name));
  const bound = api.put(PERSISTENT_VOLUME_CLAIMS, claim('data', { volumeName: 'data' }));
  const claimRef = { namespace: 'default', name: 'data', uid: uidOf(bound) };
  const { hostPath: _local, ...spec } = volume('data', { nfs: { server: 's', path: '/' }, claimRef }).spec;
  api.put(PERSISTENT_VOLUMES, { ...volume('data'), spec, status: { phase: 'Bound' } });
}

/** Acts as users and the scheduler: pods appear on any node and are deleted gracefully or by force. */
function disturb(world: World, random: Random, step: number): void {
  const { api } = world;
  const pods = api.list(PODS);
  const victim = pods[random.int(Math.max(1, pods.length))];
  const what = random.int(8);
  if (what < 4 && pods.length < 4) {
    const nodeName = NODE_NAMES[random.int(2)] ?? 'a';
    api.put(PODS, pod({ name: `p${step}` }, {}, { nodeName, volumes: VOLUMES }));
  } else if (victim !== undefined && what === 4) api.drop(PODS, targetOf(victim));
  else if (victim !== undefined && what > 4 && !isTerminating(victim)) {
    const metadata = { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    api.put(PODS, { ...victim, metadata });
  }
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
    const kubelets = NODE_NAMES.map((name) => new KubeletModel(world, name));
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
    world.api.put(PODS, pod({ name: 'last' }, {}, { nodeName: 'b', volumes: VOLUMES }));
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
