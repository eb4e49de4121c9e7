import { NODES, PODS, type Pod, volumeInUse } from '@holdfast/api';
import type { Random } from '@holdfast/platform';
import { isTerminating, targetOf, uidOf } from '../common/meta.ts';
import { pod } from './builders.ts';
import type { World } from './harness.ts';

/** Pods of two nodes that use the claim `data`, which is bound to the volume `data`. */
export const DATA = { name: 'data' };
export const NODE_NAMES = ['a', 'b'] as const;
const VOLUMES = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];

export const podOn = (nodeName: string, name: string): Pod => pod({ name }, {}, { nodeName, volumes: VOLUMES });

/** The kubelet's order: reports the use, reads whether its pod is named, then starts; and the reverse to stop. */
export class KubeletModel {
  readonly #world: World;
  readonly #name: string;
  readonly running = new Set<string>();
  readonly #said = new Set<string>();
  readonly #seen = new Map<string, Pod>();
  readonly #unwanted = new Set<string>();
  /** What the kubelet reads last before it starts the pod. */
  readonly #mayStart: (nodeName: string, podUid: string) => boolean;
  isStalled = false;

  constructor(world: World, name: string, mayStart: (nodeName: string, podUid: string) => boolean) {
    this.#world = world;
    this.#name = name;
    this.#mayStart = mayStart;
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
    else if (this.#mayStart(this.#name, uid)) this.running.add(uid);
  }

  #back(uid: string): void {
    const { api } = this.#world;
    if (this.running.delete(uid)) return;
    if (this.#said.has(uid)) return this.#say(() => this.#said.delete(uid));
    const live = api.list(PODS).find((each) => uidOf(each) === uid);
    if (live !== undefined) api.drop(PODS, targetOf(live));
    this.#seen.delete(uid);
  }

  #say(change: () => void): void {
    change();
    const { api } = this.#world;
    const met = api.get(NODES, { name: this.#name });
    const volumesInUse = [...this.#said].map((uid) => volumeInUse('data', uid));
    api.put(NODES, { ...met, status: { ...met.status, volumesInUse } });
  }
}

/** Acts as users and the scheduler: pods appear on any node and are deleted gracefully or by force. */
export function disturb(world: World, random: Random, step: number): void {
  const { api } = world;
  const pods = api.list(PODS);
  const victim = pods[random.int(Math.max(1, pods.length))];
  const what = random.int(8);
  if (what < 4 && pods.length < 4) {
    const nodeName = NODE_NAMES[random.int(2)] ?? 'a';
    api.put(PODS, podOn(nodeName, `p${step}`));
  } else if (victim !== undefined && what === 4) api.drop(PODS, targetOf(victim));
  else if (victim !== undefined && what > 4 && !isTerminating(victim)) {
    const metadata = { ...victim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    api.put(PODS, { ...victim, metadata });
  }
}
