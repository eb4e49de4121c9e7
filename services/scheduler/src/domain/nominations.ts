import type { PodInfo } from './pod-info.ts';

const NOBODY: readonly PodInfo[] = [];

/** Pods that wait for room that is being made for them, by node. */
export class Nominations {
  readonly #nodeOf = new Map<string, string>();
  readonly #onNode = new Map<string, Map<string, PodInfo>>();

  on(nodeName: string): readonly PodInfo[] {
    const pods = this.#onNode.size === 0 ? undefined : this.#onNode.get(nodeName);
    return pods === undefined ? NOBODY : [...pods.values()];
  }

  of(pod: PodInfo): string {
    return this.#nodeOf.get(pod.uid) ?? '';
  }

  set(pod: PodInfo, nodeName: string): void {
    this.clear(pod.uid);
    const pods = this.#onNode.get(nodeName) ?? new Map<string, PodInfo>();
    this.#onNode.set(nodeName, pods);
    pods.set(pod.uid, pod);
    this.#nodeOf.set(pod.uid, nodeName);
  }

  clear(uid: string): void {
    const nodeName = this.#nodeOf.get(uid);
    if (nodeName === undefined) return;
    this.#nodeOf.delete(uid);
    const pods = this.#onNode.get(nodeName);
    pods?.delete(uid);
    if (pods?.size === 0) this.#onNode.delete(nodeName);
  }
}
