import assert from 'node:assert/strict';
import { NODES, type Node, PODS, type Pod } from '@holdfast/api';
import type { SimCluster } from './cluster.ts';
import { appOf, isReady } from './workloads.ts';

export const SETTLE_DEADLINE_MS = 30_000;
/** Poll interval for facts without store or machine events. */
const LOOK_AGAIN_MS = 1_000;
const ARRIVED_MS = 250;

/** The store's content, as a user sees it through the API. */
export class World {
  readonly #cluster: SimCluster;
  #seen = -1;
  #pods: readonly Pod[] = [];
  #nodes: readonly Node[] = [];

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  /** Looks again after every change in the store and of a process. */
  async until(what: string, deadlineMs: number, holds: () => boolean): Promise<void> {
    const { kernel, committed } = this.#cluster;
    const giveUpAt = kernel.elapsedMs + deadlineMs;
    let lookedAt = -1;
    let lookAgainAt = 0;
    let held = false;
    const isOver = (): boolean => {
      if (lookedAt !== committed.version || kernel.elapsedMs >= lookAgainAt) {
        lookedAt = committed.version;
        lookAgainAt = kernel.elapsedMs + LOOK_AGAIN_MS;
        held = holds();
      }
      return held || kernel.elapsedMs >= giveUpAt;
    };
    await kernel.runUntil(what, isOver, deadlineMs + SETTLE_DEADLINE_MS);
    // The test continues when the other components have observed it, too.
    await kernel.runFor(ARRIVED_MS);
    assert.ok(held, `[seed ${kernel.seed}] ${what}: not within ${deadlineMs / 1000} s; ${this.#describe()}`);
  }

  isUp(app: string, replicas: number): boolean {
    const pods = this.pods(app);
    return pods.length === replicas && pods.every(isReady);
  }

  allPods(): readonly Pod[] {
    this.#look();
    return this.#pods;
  }

  pods(app: string): readonly Pod[] {
    return this.allPods().filter((pod) => appOf(pod) === app);
  }

  findPod(name: string): Pod | undefined {
    return this.allPods().find((pod) => pod.metadata.name === name);
  }

  pod(name: string): Pod {
    const found = this.findPod(name);
    assert.ok(found !== undefined, `pod ${name} exists`);
    return found;
  }

  findNode(name: string): Node | undefined {
    return this.#allNodes().find((node) => node.metadata.name === name);
  }

  readyNodes(): readonly string[] {
    const ready = (node: Node): boolean =>
      (node.status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
    return this.#allNodes()
      .filter(ready)
      .map((node) => node.metadata.name ?? '');
  }

  #allNodes(): readonly Node[] {
    this.#look();
    return this.#nodes;
  }

  #look(): void {
    const { committed } = this.#cluster;
    if (this.#seen === committed.version) return;
    this.#seen = committed.version;
    this.#pods = committed.list(PODS);
    this.#nodes = committed.list(NODES);
  }

  #describe(): string {
    const pods = this.allPods().map(
      (pod) =>
        `${pod.metadata.name}@${pod.spec.nodeName} ${pod.status?.phase} ready=${isReady(pod)} deleted=${pod.metadata.deletionTimestamp ?? 'no'}`,
    );
    return `nodes ready: ${this.readyNodes().join(', ')}; pods: ${pods.join('; ')}`;
  }
}
