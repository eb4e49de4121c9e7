import { join } from 'node:path';
import type { Clock, Log } from '@holdfast/platform';
import { isCode } from '../engine-errors.ts';
import type { PodFiles } from '../pod-files.ts';
import { type ContainerStatus, RuntimeError, type SandboxStatus } from '../port.ts';
import { type Engine, filtersOf, part } from './engine.ts';
import type { InspectedContainer, InspectedImage, ListedContainer } from './engine-types.ts';
import { fullImageName } from './image-names.ts';
import {
  attemptOf,
  containerNameOf,
  isContainer,
  isOwn,
  isSandbox,
  type Labels,
  type Owner,
  ownerFilters,
  podOf,
  podUidOf,
  sandboxIdOf,
} from './labels.ts';
import { EXIT_SETTLES_MS } from './limits.ts';
import { processesOf } from './local-processes.ts';
import type { LogKeeper } from './log-keeper.ts';
import { buriedRecord, containerRecord, labelsOf, sandboxRecord, stateOf } from './records.ts';

export interface StoreDeps {
  readonly engine: Engine;
  readonly owner: Owner;
  readonly files: PodFiles;
  readonly logs: LogKeeper;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeAddress: () => string;
}

/** A container that was stopped before it ran: the engine has forgotten it, the kubelet not yet. */
interface Buried {
  readonly sandboxId: string;
  readonly record: ContainerStatus;
}

export const listedLabels = ({ Labels: labels }: Pick<ListedContainer, 'Labels'>): Labels => labels ?? {};

/** The engine's containers of this node. Lists are always read; details that can no longer change only once. */
export class DockerStore {
  readonly #deps: StoreDeps;
  /** By id and state. */
  readonly #settled = new Map<string, InspectedContainer>();
  readonly #buried = new Map<string, Buried>();
  readonly #imageIds = new Map<string, string>();
  /** Ids whose details the engine did not return; each is reported once. */
  readonly #untold = new Set<string>();
  /** By id: why it could not be started. Podman leaves such a container as created, without a reason. */
  readonly #unstartable = new Map<string, string>();

  constructor(deps: StoreDeps) {
    this.#deps = deps;
  }

  async listed(podUid: string | undefined): Promise<readonly ListedContainer[]> {
    const filters = filtersOf({ label: ownerFilters(this.#deps.owner, podUid) });
    const query = { all: 'true', filters };
    return this.#deps.engine.json<readonly ListedContainer[]>({ method: 'GET', path: '/containers/json', query });
  }

  /**
   * For one pod: rejects when the engine does not return all of it. For the whole node: a container without details counts as
   * running, so that other pods are not affected.
   */
  async list(podUid: string | undefined): Promise<readonly SandboxStatus[]> {
    const listed = await this.listed(podUid);
    if (podUid === undefined) this.#forget(listed);
    const found = await Promise.all(listed.map((each) => this.#details(each, podUid === undefined)));
    const all = found.filter((each) => each !== undefined);
    const sandboxes = all.filter((each) => isSandbox(labelsOf(each)));
    const statuses = await Promise.all(sandboxes.map((sandbox) => this.#status(sandbox, all)));
    return statuses.toSorted((a, b) => a.createdAt - b.createdAt || a.config.attempt - b.config.attempt);
  }

  /** Resolves with `undefined` when it does not exist, or is not of this node. */
  async inspect(id: string): Promise<InspectedContainer | undefined> {
    try {
      const path = `/containers/${part(id)}/json`;
      const found = await this.#deps.engine.json<InspectedContainer>({ method: 'GET', path });
      return isOwn(labelsOf(found), this.#deps.owner) ? this.#withReason(found) : undefined;
    } catch (error) {
      if (isCode(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Rejects with `NotFound`. */
  async sandbox(id: string): Promise<InspectedContainer> {
    const found = await this.inspect(id);
    if (found === undefined || !isSandbox(labelsOf(found)))
      throw new RuntimeError('NotFound', `sandbox ${id} does not exist`);
    return found;
  }

  async containersOf(sandbox: InspectedContainer): Promise<readonly ListedContainer[]> {
    const listed = await this.listed(podUidOf(labelsOf(sandbox)));
    return listed.filter((each) => isContainer(listedLabels(each)) && sandboxIdOf(listedLabels(each)) === sandbox.Id);
  }

  async record(found: InspectedContainer): Promise<ContainerStatus> {
    const { logs } = this.#deps;
    const place = { imageId: await this.#imageId(found.Image), logPath: this.logPath(found) };
    const record = containerRecord(found, place);
    if (record.state === 'created') return record;
    const log = { id: found.Id, path: place.logPath, tty: found.Config.Tty };
    if (record.state === 'running') logs.follow(log);
    else if (record.startedAt !== undefined) await logs.drained(log);
    return record.state === 'exited' && hasProcesses(found) ? containerRecord(stillRunning(found), place) : record;
  }

  logPath(found: InspectedContainer): string {
    const labels = labelsOf(found);
    const { files } = this.#deps;
    const relative = files.logPath(containerNameOf(labels), attemptOf(labels));
    return join(files.logDirectory(podOf(labels)), relative);
  }

  async bury(found: InspectedContainer): Promise<void> {
    const sandboxId = sandboxIdOf(labelsOf(found));
    this.#buried.set(found.Id, { sandboxId, record: buriedRecord(await this.record(found), this.#deps.clock.now()) });
  }

  /** From now on it counts as ended: it never ran. */
  noteUnstartable(id: string, reason: string): void {
    this.#unstartable.set(id, reason);
  }

  #withReason(found: InspectedContainer): InspectedContainer {
    const reason = this.#unstartable.get(found.Id);
    if (reason === undefined || stateOf(found) !== 'created') return found;
    return { ...found, State: { ...found.State, Error: reason } };
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

  async #status(sandbox: InspectedContainer, all: readonly InspectedContainer[]): Promise<SandboxStatus> {
    const { files, nodeAddress } = this.#deps;
    const own = all.filter((each) => isContainer(labelsOf(each)) && sandboxIdOf(labelsOf(each)) === sandbox.Id);
    const live = await Promise.all(own.map((each) => this.record(each)));
    const buried = [...this.#buried.values()].filter(({ sandboxId }) => sandboxId === sandbox.Id);
    const containers = [...live, ...buried.map(({ record }) => record)].toSorted((a, b) => a.createdAt - b.createdAt);
    const { sharesNetwork, ...record } = sandboxRecord(sandbox, files.volumesPath);
    return { ...record, ip: sharesNetwork ? nodeAddress() : record.ip, containers };
  }

  async #details(listed: ListedContainer, ofAll: boolean): Promise<InspectedContainer | undefined> {
    const key = `${listed.Id}/${listed.State}`;
    const known = this.#settled.get(key);
    if (known !== undefined) return known;
    try {
      const found = await this.inspect(listed.Id);
      if (found !== undefined && found.State.Status === listed.State && this.#isSettled(found))
        this.#settled.set(key, found);
      return found;
    } catch (error) {
      if (!ofAll || this.#deps.engine.closed.aborted || isCode(error, 'Unavailable')) throw error;
      this.#tellUntold(listed.Id, error);
      return unknownContainer(listed);
    }
  }

  #isSettled(found: InspectedContainer): boolean {
    const state = stateOf(found);
    if (state === 'running') return true;
    const { finishedAt = 0 } = containerRecord(found, { imageId: '', logPath: '' });
    return state === 'exited' && !hasProcesses(found) && this.#deps.clock.now() - finishedAt > EXIT_SETTLES_MS;
  }

  #tellUntold(id: string, error: unknown): void {
    if (this.#untold.has(id)) return;
    this.#untold.add(id);
    this.#deps.log.warn('the Docker engine does not report the state of a container', { id, error });
  }

  /** The name with the digest, where the image came from a registry. */
  async #imageId(id: string): Promise<string> {
    const known = this.#imageIds.get(id);
    if (known !== undefined) return known;
    try {
      const path = `/images/${part(id)}/json`;
      const { RepoDigests } = await this.#deps.engine.json<InspectedImage>({ method: 'GET', path });
      const [digest] = RepoDigests ?? [];
      const name = digest === undefined ? id : fullImageName(digest);
      this.#imageIds.set(id, name);
      return name;
    } catch (error) {
      if (isCode(error, 'NotFound')) return id;
      throw error;
    }
  }

  #forget(listed: readonly ListedContainer[]): void {
    const ids = new Set(listed.map(({ Id }) => Id));
    for (const key of this.#settled.keys()) if (!ids.has(key.slice(0, key.lastIndexOf('/')))) this.#settled.delete(key);
    for (const id of this.#untold) if (!ids.has(id)) this.#untold.delete(id);
    for (const id of this.#unstartable.keys()) if (!ids.has(id)) this.#unstartable.delete(id);
    for (const [id, { sandboxId }] of this.#buried) if (!ids.has(sandboxId)) this.#buried.delete(id);
    const images = new Set(listed.map(({ ImageID }) => ImageID));
    for (const id of this.#imageIds.keys()) if (!images.has(id)) this.#imageIds.delete(id);
    this.#deps.logs.forget(ids);
  }
}

/** A process namespace of its own is '' for Docker and 'private' for Podman. In one of others the kernel does not end the rest together with the first process. */
export const sharesProcesses = ({ HostConfig }: InspectedContainer): boolean => !PRIVATE_MODES.has(HostConfig.PidMode);

const PRIVATE_MODES: ReadonlySet<string> = new Set(['', 'private']);

const hasProcesses = (found: InspectedContainer): boolean => sharesProcesses(found) && processesOf(found.Id).length > 0;

const stillRunning = (found: InspectedContainer): InspectedContainer => ({
  ...found,
  State: { ...found.State, Running: true, Status: 'running' },
});

const NEVER = '0001-01-01T00:00:00Z';

/** Nobody saw its end. */
function unknownContainer({ Id, ImageID, Labels: labels }: ListedContainer): InspectedContainer {
  const State = { Status: 'running', Running: true, Pid: 0, ExitCode: 0, Error: '', OOMKilled: false } as const;
  return {
    Id,
    Created: NEVER,
    Image: ImageID,
    State: { ...State, StartedAt: NEVER, FinishedAt: NEVER },
    Config: { Labels: labels, Tty: false, OpenStdin: false },
    HostConfig: { PidMode: '', NetworkMode: '' },
    NetworkSettings: {},
  };
}

/** By id: `podUid state`, to compare two polls. */
export function statesById(
  listed: readonly ListedContainer[],
): ReadonlyMap<string, { readonly podUid: string; readonly state: string }> {
  return new Map(listed.map(({ Id, State, Labels: labels }) => [Id, { podUid: podUidOf(labels ?? {}), state: State }]));
}
