import assert from 'node:assert/strict';
import { NODES, type Node, PODS, type Pod } from '@holdfast/api';
import type { SimCluster } from './cluster.ts';
import { appOf, isReady } from './workloads.ts';

export const SETTLE_DEADLINE_MS = 30_000;
const POLL_MS = 250;

/** What a user sees through the API, asked again as virtual time goes on. */
export class World {
  readonly #cluster: SimCluster;
  #pods: readonly Pod[] = [];
  #nodes: readonly Node[] = [];

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  async until(what: string, deadlineMs: number, holds: () => boolean): Promise<void> {
    const { kernel } = this.#cluster;
    const giveUpAt = kernel.elapsedMs + deadlineMs;
    do {
      assert.ok(
        kernel.elapsedMs < giveUpAt,
        `[seed ${kernel.seed}] ${what}: not within ${deadlineMs / 1000} s; ${this.#describe()}`,
      );
      await this.#look();
    } while (!holds());
  }

  isUp(app: string, replicas: number): boolean {
    const pods = this.pods(app);
    return pods.length === replicas && pods.every(isReady);
  }

  allPods(): readonly Pod[] {
    return this.#pods;
  }

  pods(app: string): readonly Pod[] {
    return this.#pods.filter((pod) => appOf(pod) === app);
  }

  findPod(name: string): Pod | undefined {
    return this.#pods.find((pod) => pod.metadata.name === name);
  }

  pod(name: string): Pod {
    const found = this.findPod(name);
    assert.ok(found !== undefined, `pod ${name} exists`);
    return found;
  }

  findNode(name: string): Node | undefined {
    return this.#nodes.find((node) => node.metadata.name === name);
  }

  readyNodes(): readonly string[] {
    const ready = (node: Node): boolean =>
      (node.status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
    return this.#nodes.filter(ready).map((node) => node.metadata.name ?? '');
  }

  async #look(): Promise<void> {
    const { kernel, admin } = this.#cluster;
    let answered = false;
    const ask = async (): Promise<void> => {
      this.#pods = (await admin.list(PODS)).items;
      this.#nodes = (await admin.list(NODES)).items;
      answered = true;
    };
    this.#cluster.background(ask());
    await kernel.runFor(POLL_MS);
    await kernel.runUntil('the API answers a user', () => answered, SETTLE_DEADLINE_MS);
  }

  #describe(): string {
    const pods = this.#pods.map(
      (pod) =>
        `${pod.metadata.name}@${pod.spec.nodeName} ${pod.status?.phase} ready=${isReady(pod)} deleted=${pod.metadata.deletionTimestamp ?? 'no'}`,
    );
    return `nodes ready: ${this.readyNodes().join(', ')}; pods: ${pods.join('; ')}`;
  }
}
