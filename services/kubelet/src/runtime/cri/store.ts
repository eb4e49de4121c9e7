import type { Clock, Log } from '@holdfast/platform';
import { isCode } from '../engine-errors.ts';
import { type ContainerStatus, RuntimeError, type SandboxConfig, type SandboxStatus } from '../port.ts';
import type { CriConnection } from './connection.ts';
import {
  type Container,
  ContainerState,
  type ContainerStatus as CriContainerStatus,
  type PodSandbox,
  PodSandboxState,
} from './generated/cri_pb.js';
import { decodeSandbox, podUidOf, selectorOf } from './labels.ts';
import { EXIT_SETTLES_MS, QUICK_DEADLINE_MS } from './limits.ts';
import {
  buriedRecord,
  containerRecord,
  listedContainer,
  listedSandbox,
  type SandboxRecord,
  type SandboxSurroundings,
  sandboxRecord,
} from './records.ts';

export interface StoreDeps extends SandboxSurroundings {
  readonly log: Log;
  readonly connection: CriConnection;
  readonly clock: Clock;
  readonly node: string;
}

/** A container that was stopped before it ran: the runtime has forgotten it, the kubelet not yet. */
interface Buried {
  readonly sandboxId: string;
  readonly createdAt: bigint;
  readonly record: ContainerStatus;
}

const QUICK = { deadlineMs: QUICK_DEADLINE_MS };

/**
 * The runtime's objects of this node. Lists are always read; details that can no longer change in their state
 * (addresses, start times, exit codes) only once.
 */
export class CriStore {
  readonly #deps: StoreDeps;
  readonly #sandboxes = new Map<string, SandboxRecord>();
  readonly #containers = new Map<string, ContainerStatus>();
  readonly #buried = new Map<string, Buried>();
  /** Ids whose details the runtime did not return; each is reported once. */
  readonly #untold = new Set<string>();

  constructor(deps: StoreDeps) {
    this.#deps = deps;
  }

  /**
   * For one pod: rejects when the runtime does not return all of it. For the whole node: missing details of one pod are
   * filled from the list, so that other pods are not affected. Such a container counts as running.
   */
  async list(podUid: string | undefined): Promise<readonly SandboxStatus[]> {
    const [sandboxes, containers] = await this.listIds(podUid);
    if (podUid === undefined) this.#forget(sandboxes, containers);
    const inOrder = sandboxes.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    const ofAll = podUid === undefined;
    const statuses = await Promise.all(inOrder.map((sandbox) => this.#status(sandbox, containers, ofAll)));
    return statuses.filter((status) => status !== undefined);
  }

  /** Ids and states only. */
  async listIds(podUid: string | undefined): Promise<readonly [readonly PodSandbox[], readonly Container[]]> {
    const labelSelector = selectorOf(this.#deps.node, podUid);
    const { connection } = this.#deps;
    // Sandboxes first: no container may be listed without the sandbox that it belongs to.
    const { items } = await connection.call(QUICK, ({ runtime }, options) =>
      runtime.listPodSandbox({ filter: { labelSelector } }, options),
    );
    const { containers } = await connection.call(QUICK, ({ runtime }, options) =>
      runtime.listContainers({ filter: { labelSelector } }, options),
    );
    return [items, containers];
  }

  /** Rejects with `NotFound`. */
  async sandbox(id: string): Promise<{ readonly record: SandboxRecord; readonly config: SandboxConfig }> {
    const { status } = await this.#deps.connection.call(QUICK, ({ runtime }, options) =>
      runtime.podSandboxStatus({ podSandboxId: id }, options),
    );
    if (status === undefined) throw new RuntimeError('NotFound', `sandbox ${id} does not exist`);
    return { record: sandboxRecord(status, this.#deps), config: decodeSandbox(id, status.annotations) };
  }

  /** Resolves with `undefined` when it does not exist. */
  async container(id: string): Promise<CriContainerStatus | undefined> {
    try {
      const { status } = await this.#deps.connection.call(QUICK, ({ runtime }, options) =>
        runtime.containerStatus({ containerId: id }, options),
      );
      return status;
    } catch (error) {
      if (isCode(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async containersOf(sandboxId: string): Promise<readonly Container[]> {
    const { containers } = await this.#deps.connection.call(QUICK, ({ runtime }, options) =>
      runtime.listContainers({ filter: { podSandboxId: sandboxId } }, options),
    );
    return containers;
  }

  bury(status: CriContainerStatus, sandboxId: string): void {
    const record = buriedRecord(status, this.#deps.clock.now());
    this.#buried.set(status.id, { sandboxId, createdAt: status.createdAt, record });
  }

  isBuried(id: string): boolean {
    return this.#buried.has(id);
  }

  unbury(id: string): void {
    this.#buried.delete(id);
  }

  unburyAll(sandboxId: string): void {
    for (const [id, buried] of this.#buried) if (buried.sandboxId === sandboxId) this.#buried.delete(id);
  }

  async #status(
    sandbox: PodSandbox,
    containers: readonly Container[],
    ofAll: boolean,
  ): Promise<SandboxStatus | undefined> {
    const detailOf = <T>(id: string, detail: Promise<T>, listed: () => T): Promise<T> =>
      detail.catch((error: unknown) => {
        if (!ofAll || this.#deps.connection.closed.aborted) throw error;
        this.#tellUntold(id, error);
        return listed();
      });
    const record = await detailOf(sandbox.id, this.#sandboxRecord(sandbox), () => listedSandbox(sandbox, this.#deps));
    if (record === undefined) return undefined;
    const own = containers.filter(({ podSandboxId }) => podSandboxId === sandbox.id);
    const live = await Promise.all(
      own.map(async (each) => ({
        createdAt: each.createdAt,
        record: await detailOf(each.id, this.#containerRecord(each), () => listedContainer(each)),
      })),
    );
    const buried = [...this.#buried.values()].filter(({ sandboxId }) => sandboxId === sandbox.id);
    const all = [...live, ...buried].toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    const { sharesNetwork, ...known } = record;
    const ip = sharesNetwork ? this.#deps.nodeAddress() : known.ip;
    return { ...known, ip, containers: all.flatMap(({ record: each }) => each ?? []) };
  }

  #tellUntold(id: string, error: unknown): void {
    if (this.#untold.has(id)) return;
    this.#untold.add(id);
    this.#deps.log.warn('the container runtime does not report the state of a pod', { id, error });
  }

  async #sandboxRecord({ id, state }: PodSandbox): Promise<SandboxRecord | undefined> {
    const known = this.#sandboxes.get(id);
    const isReady = state === PodSandboxState.SANDBOX_READY;
    if (known !== undefined && (known.state === 'ready') === isReady) return known;
    try {
      const { record } = await this.sandbox(id);
      if (record.ip !== '' || record.sharesNetwork || record.state === 'notReady') this.#sandboxes.set(id, record);
      return record;
    } catch (error) {
      // Removed since it was listed.
      if (isCode(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #containerRecord({ id, state }: Container): Promise<ContainerStatus | undefined> {
    const key = `${id}/${state}`;
    const known = this.#containers.get(key);
    if (known !== undefined) return known;
    const status = await this.container(id);
    if (status === undefined) return undefined;
    const record = containerRecord(status);
    if (status.state === state && this.#isSettled(record, state)) this.#containers.set(key, record);
    return record;
  }

  #isSettled({ finishedAt = 0 }: ContainerStatus, state: ContainerState): boolean {
    if (state === ContainerState.CONTAINER_RUNNING) return true;
    return state === ContainerState.CONTAINER_EXITED && this.#deps.clock.now() - finishedAt > EXIT_SETTLES_MS;
  }

  #forget(sandboxes: readonly PodSandbox[], containers: readonly Container[]): void {
    const ids = new Set([...sandboxes, ...containers].map(({ id }) => id));
    for (const id of this.#sandboxes.keys()) if (!ids.has(id)) this.#sandboxes.delete(id);
    for (const key of this.#containers.keys())
      if (!ids.has(key.slice(0, key.lastIndexOf('/')))) this.#containers.delete(key);
    for (const id of this.#untold) if (!ids.has(id)) this.#untold.delete(id);
    for (const [id, { sandboxId }] of this.#buried) if (!ids.has(sandboxId)) this.#buried.delete(id);
  }
}

/** By id: `podUid state`, to compare two polls. */
export function statesById(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
): ReadonlyMap<string, { readonly podUid: string; readonly state: number }> {
  return new Map(
    [...sandboxes, ...containers].map(({ id, labels, state }) => [id, { podUid: podUidOf(labels), state }]),
  );
}
