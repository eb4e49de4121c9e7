import type { Clock } from '@holdfast/platform';
import { closedError, isCode, unconfirmed, unlessGone } from '../engine-errors.ts';
import type { PodFiles } from '../pod-files.ts';
import { type ContainerConfig, type ExecResult, RuntimeError } from '../port.ts';
import { Starts } from '../starts.ts';
import { type CallLimits, type CriConnection, textOf } from './connection.ts';
import { ContainerState, type ContainerStatus as CriContainerStatus } from './generated/cri_pb.js';
import { EXEC_OUTPUT_MAX_BYTES, STOP_CONFIRM_MS, WORK_DEADLINE_MS } from './limits.ts';
import { containerRequest, sandboxRequest } from './requests.ts';
import type { CriStore } from './store.ts';

export interface ContainersDeps {
  readonly connection: CriConnection;
  readonly store: CriStore;
  readonly files: PodFiles;
  readonly clock: Clock;
  readonly node: string;
}

const WORK: CallLimits = { deadlineMs: WORK_DEADLINE_MS };
const STOP_ATTEMPTS_MAX = 3;

/** The lives of containers, in the order that the port promises whatever a runtime allows. */
export class CriContainers {
  readonly #deps: ContainersDeps;
  readonly #starts = new Starts();
  readonly #stopping = new Map<string, number>();

  constructor(deps: ContainersDeps) {
    this.#deps = deps;
  }

  async create(sandboxId: string, config: ContainerConfig): Promise<string> {
    const { connection, store, files, node } = this.#deps;
    const { record, config: sandbox } = await store.sandbox(sandboxId);
    const same = (await store.containersOf(sandboxId)).find(
      ({ metadata }) => metadata?.name === config.name && metadata.attempt === config.restartCount,
    );
    if (same !== undefined) return same.id;
    if (record.state !== 'ready') throw new RuntimeError('IllegalState', `sandbox ${sandboxId} is stopped`);
    files.prepareContainer(sandbox, config.name);
    const logPath = files.logPath(config.name, config.restartCount);
    const { seccompRoot } = files;
    const request = {
      podSandboxId: sandboxId,
      config: containerRequest(config, sandbox, { node, seccompRoot, logPath }),
      sandboxConfig: sandboxRequest(sandbox, { node, seccompRoot, logDirectory: files.logDirectory(sandbox) }),
    };
    const { containerId } = await connection.call(WORK, ({ runtime }, options) =>
      runtime.createContainer(request, options),
    );
    return containerId;
  }

  /** A stop that comes meanwhile waits for its end. */
  start(id: string): Promise<void> {
    return this.#starts.run(id, () => this.#start(id));
  }

  async #start(id: string): Promise<void> {
    const { connection, store } = this.#deps;
    if (store.isBuried(id)) return;
    const before = await store.container(id);
    if (before === undefined) throw new RuntimeError('NotFound', `container ${id} does not exist`);
    if (before.state !== ContainerState.CONTAINER_CREATED) return;
    try {
      await connection.call(WORK, ({ runtime }, options) => runtime.startContainer({ containerId: id }, options));
    } catch (error) {
      // It was started by a request without a response, or it could not start: its state tells which.
      const after = await store.container(id);
      if (after === undefined || after.state === ContainerState.CONTAINER_CREATED) throw error;
    }
  }

  /** True while a stop waits for its end. */
  isStopping(id: string): boolean {
    return this.#stopping.has(id);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    this.#stopping.set(id, (this.#stopping.get(id) ?? 0) + 1);
    try {
      await this.#stop(id, graceMs);
    } finally {
      const others = (this.#stopping.get(id) ?? 1) - 1;
      if (others > 0) this.#stopping.set(id, others);
      else this.#stopping.delete(id);
    }
  }

  async #stop(id: string, graceMs: number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.#starts.settled(id);
      const status = await this.#deps.store.container(id);
      if (status === undefined || status.state === ContainerState.CONTAINER_EXITED) return;
      if (status.state !== ContainerState.CONTAINER_CREATED) return this.#kill(id, graceMs);
      if (await this.#bury(status)) return;
      if (attempt >= STOP_ATTEMPTS_MAX) throw unconfirmed(id);
    }
  }

  /**
   * It never ran. Runtimes ignore a stop then, and a start that is on its way would still happen. Removing it excludes the
   * start: the runtime does one of both. The kubelet goes on seeing it, as ended.
   */
  async #bury(status: CriContainerStatus): Promise<boolean> {
    const { connection, store } = this.#deps;
    const { id } = status;
    const sandboxId = await this.#sandboxIdOf(id);
    store.bury(status, sandboxId);
    try {
      await connection.call(WORK, ({ runtime }, options) => runtime.removeContainer({ containerId: id }, options));
      return true;
    } catch (error) {
      if (isCode(error, 'NotFound')) return true;
      store.unbury(id);
      if (isCode(error, 'Unavailable')) throw error;
      return (await store.container(id)) === undefined;
    }
  }

  async #sandboxIdOf(id: string): Promise<string> {
    const [, containers] = await this.#deps.store.listIds(undefined);
    return containers.find((container) => container.id === id)?.podSandboxId ?? '';
  }

  /** The runtime counts whole seconds: the rest is counted here, and a second call may always shorten the first. */
  async #kill(id: string, graceMs: number): Promise<void> {
    const { clock, connection } = this.#deps;
    const seconds = Math.ceil(Math.max(0, graceMs) / 1000);
    const ended = new AbortController();
    const early =
      seconds * 1000 === graceMs || seconds === 0
        ? undefined
        : clock.timer(graceMs, () => void this.#sendStop(id, 0, ended.signal).catch(() => undefined));
    try {
      await this.#sendStop(id, seconds, undefined);
    } catch (error) {
      const status = await this.#deps.store.container(id);
      if (status !== undefined && status.state !== ContainerState.CONTAINER_EXITED) throw error;
    } finally {
      early?.cancel();
      ended.abort();
    }
    if (connection.closed.aborted) throw closedError();
    const status = await this.#deps.store.container(id);
    if (status !== undefined && status.state !== ContainerState.CONTAINER_EXITED) throw unconfirmed(id);
  }

  async #sendStop(id: string, seconds: number, signal: AbortSignal | undefined): Promise<void> {
    const deadlineMs = seconds * 1000 + STOP_CONFIRM_MS;
    const limits: CallLimits = { deadlineMs, onDeadline: 'Unconfirmed', ...(signal === undefined ? {} : { signal }) };
    const request = { containerId: id, timeout: BigInt(seconds) };
    await this.#deps.connection.call(limits, ({ runtime }, options) => runtime.stopContainer(request, options));
  }

  /** Runtimes kill a running container on removal; the port must not. */
  async remove(id: string): Promise<void> {
    const { connection, store } = this.#deps;
    if (store.isBuried(id)) {
      store.unbury(id);
      return;
    }
    const status = await store.container(id);
    if (status === undefined) return;
    if (isAlive(status.state) || this.#starts.has(id))
      throw new RuntimeError('IllegalState', `container ${status.metadata?.name ?? id} still runs`);
    await unlessGone(
      connection.call(WORK, ({ runtime }, options) => runtime.removeContainer({ containerId: id }, options)),
    );
  }

  async exec(
    id: string,
    command: readonly string[],
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<ExecResult> {
    const given = signal === undefined ? {} : { signal };
    const limits: CallLimits = { deadlineMs: timeoutMs, onDeadline: 'Timeout', ...given };
    const request = { containerId: id, cmd: [...command], timeout: BigInt(Math.ceil(timeoutMs / 1000)) };
    try {
      const { exitCode, stdout, stderr } = await this.#deps.connection.call(limits, ({ runtime }, options) =>
        runtime.execSync(request, options),
      );
      const output = Buffer.concat([stdout, stderr]).subarray(0, EXEC_OUTPUT_MAX_BYTES);
      return { exitCode, output: output.toString('utf8') };
    } catch (error) {
      throw await this.#execError(id, { error, command, timeoutMs });
    }
  }

  async #execError(
    id: string,
    failed: { readonly error: unknown; readonly command: readonly string[]; readonly timeoutMs: number },
  ): Promise<unknown> {
    const { error, command, timeoutMs } = failed;
    if (isCode(error, 'Unavailable')) return error;
    if (isCode(error, 'Timeout')) {
      return new RuntimeError('Timeout', `command "${command.join(' ')}" timed out after ${timeoutMs / 1000}s`, error);
    }
    const status = await this.#deps.store.container(id);
    if (status === undefined) return new RuntimeError('NotFound', `container ${id} does not exist`, error);
    if (status.state !== ContainerState.CONTAINER_RUNNING)
      return new RuntimeError('IllegalState', `container ${id} does not run`, error);
    return new RuntimeError('Internal', textOf(error), error);
  }
}

export const isAlive = (state: ContainerState): boolean =>
  state === ContainerState.CONTAINER_RUNNING || state === ContainerState.CONTAINER_UNKNOWN;
