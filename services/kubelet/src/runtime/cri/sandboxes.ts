import { isCode, unlessGone } from '../engine-errors.ts';
import type { PodFiles } from '../pod-files.ts';
import { RuntimeError, type SandboxConfig } from '../port.ts';
import type { CallLimits, CriConnection } from './connection.ts';
import { type CriContainers, isAlive } from './containers.ts';
import type { PodSandbox } from './generated/cri_pb.js';
import { LEFT_OVER_GRACE_MS, WORK_DEADLINE_MS } from './limits.ts';
import { sandboxRequest } from './requests.ts';
import type { CriStore } from './store.ts';

export interface SandboxesDeps {
  readonly connection: CriConnection;
  readonly store: CriStore;
  readonly containers: CriContainers;
  readonly files: PodFiles;
  readonly node: string;
}

const WORK: CallLimits = { deadlineMs: WORK_DEADLINE_MS };

export class CriSandboxes {
  readonly #deps: SandboxesDeps;

  constructor(deps: SandboxesDeps) {
    this.#deps = deps;
  }

  async run(config: SandboxConfig): Promise<string> {
    const { connection, files, node } = this.#deps;
    const earlier = await this.#sandboxesOf(config.podUid);
    const same = earlier.find(({ metadata }) => metadata?.attempt === config.attempt);
    if (same !== undefined) return same.id;
    // A sandbox may end without its containers: nothing of the pod may run twice.
    await Promise.all(earlier.map(({ id }) => this.stop(id, LEFT_OVER_GRACE_MS)));
    files.prepare(config);
    const request = {
      config: sandboxRequest(config, {
        node,
        seccompRoot: files.seccompRoot,
        logDirectory: files.logDirectory(config),
      }),
      runtimeHandler: config.isolation?.handler ?? '',
    };
    const { podSandboxId } = await connection.call(WORK, ({ runtime }, options) =>
      runtime.runPodSandbox(request, options),
    );
    return podSandboxId;
  }

  async stop(id: string, graceMs: number): Promise<void> {
    const { connection, containers, store } = this.#deps;
    const own = await store.containersOf(id);
    await Promise.all(own.map((container) => containers.stop(container.id, graceMs)));
    await unlessGone(
      connection.call(WORK, ({ runtime }, options) => runtime.stopPodSandbox({ podSandboxId: id }, options)),
    );
  }

  /** Files go first: the sandbox is what reminds the next kubelet of them. */
  async remove(id: string): Promise<void> {
    const { connection, store, files } = this.#deps;
    const found = await store.sandbox(id).catch((error: unknown) => {
      if (isCode(error, 'NotFound')) return undefined;
      throw error;
    });
    if (found === undefined) return;
    const alive = (await store.containersOf(id)).find(({ state }) => isAlive(state));
    if (alive !== undefined)
      throw new RuntimeError(
        'IllegalState',
        `container ${alive.metadata?.name ?? alive.id} of sandbox ${id} still runs`,
      );
    await unlessGone(
      connection.call(WORK, ({ runtime }, options) => runtime.stopPodSandbox({ podSandboxId: id }, options)),
    );
    const sandboxes = await this.#sandboxesOf(found.config.podUid);
    if (sandboxes.every((sandbox) => sandbox.id === id)) files.remove(found.config);
    await unlessGone(
      connection.call(WORK, ({ runtime }, options) => runtime.removePodSandbox({ podSandboxId: id }, options)),
    );
    store.unburyAll(id);
  }

  async #sandboxesOf(podUid: string): Promise<readonly PodSandbox[]> {
    const [sandboxes] = await this.#deps.store.listIds(podUid);
    return sandboxes;
  }
}
