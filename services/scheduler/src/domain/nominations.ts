import type { PodInfo } from './pod-info.ts';

const NOBODY: readonly PodInfo[] = [];

/** Nominated pods by node: they wait for preempted pods to end. */
export class Nominations {
  readonly #nodeOf = new Map<string, string>();
  readonly #onNode = new Map<string, readonly PodInfo[]>();

  get any(): boolean {
    return this.#nodeOf.size > 0;
  }

  /** Returns the same array while its pods are the same. */
  on(nodeName: string): readonly PodInfo[] {
    // Called for every node of every decision, usually without any nominated pod.
    return this.#onNode.size === 0 ? NOBODY : (this.#onNode.get(nodeName) ?? NOBODY);
  }

  of(pod: PodInfo): string {
    return this.#nodeOf.get(pod.uid) ?? '';
  }

  set(pod: PodInfo, nodeName: string): void {
    this.clear(pod.uid);
    this.#onNode.set(nodeName, [...this.on(nodeName), pod]);
    this.#nodeOf.set(pod.uid, nodeName);
  }

  clear(uid: string): void {
    const nodeName = this.#nodeOf.get(uid);
    if (nodeName === undefined) return;
    this.#nodeOf.delete(uid);
    const left = this.on(nodeName).filter((pod) => pod.uid !== uid);
    if (left.length === 0) this.#onNode.delete(nodeName);
    else this.#onNode.set(nodeName, left);
  }
}
