import { isCode, unlessGone } from '../engine-errors.ts';
import type { PodFiles } from '../pod-files.ts';
import { RuntimeError, type SandboxConfig } from '../port.ts';
import type { DockerContainers } from './containers.ts';
import { type Engine, part } from './engine.ts';
import type { ListedContainer } from './engine-types.ts';
import { attemptOf, containerNameOf, isSandbox, storedSandbox } from './labels.ts';
import { LEFT_OVER_GRACE_MS, WORK_DEADLINE_MS } from './limits.ts';
import type { LogKeeper } from './log-keeper.ts';
import { labelsOf, stateOf } from './records.ts';
import { type RequestPlace, sandboxName, sandboxRequest } from './requests.ts';
import type { SandboxImage } from './sandbox-image.ts';
import { type DockerStore, listedLabels } from './store.ts';

export interface SandboxesDeps {
  readonly engine: Engine;
  readonly store: DockerStore;
  readonly containers: DockerContainers;
  readonly files: PodFiles;
  readonly logs: LogKeeper;
  readonly image: SandboxImage;
  readonly place: RequestPlace;
}

/** A sandbox is a container that only sleeps: it holds the network of its pod, and other namespaces that the pod shares. */
export class DockerSandboxes {
  readonly #deps: SandboxesDeps;

  constructor(deps: SandboxesDeps) {
    this.#deps = deps;
  }

  async run(config: SandboxConfig): Promise<string> {
    const { files } = this.#deps;
    const earlier = await this.#sandboxesOf(config.podUid);
    const same = earlier.find((each) => attemptOf(listedLabels(each)) === config.attempt);
    // It was begun by a kubelet that ended before it had started it.
    if (same?.State === 'created') await this.#start(same.Id);
    if (same !== undefined) return same.Id;
    // A sandbox may end without its containers: nothing of the pod may run twice.
    await Promise.all(earlier.map(({ Id }) => this.stop(Id, LEFT_OVER_GRACE_MS)));
    files.prepare(config);
    const id = await this.#create(config);
    await this.#start(id);
    return id;
  }

  /** The image may be missing the first time, and again after somebody removed unused ones. */
  async #create(config: SandboxConfig): Promise<string> {
    const { engine, image, place } = this.#deps;
    const create = (): Promise<{ readonly Id: string }> =>
      engine.json({
        method: 'POST',
        path: '/containers/create',
        query: { name: sandboxName(config) },
        body: sandboxRequest(config, image.name, place),
        deadlineMs: WORK_DEADLINE_MS,
      });
    try {
      return (await create()).Id;
    } catch (error) {
      if (!isCode(error, 'NotFound')) throw error;
    }
    await image.provide();
    return (await create()).Id;
  }

  /** What cannot start is removed: its name would be in the way of the next attempt. */
  async #start(id: string): Promise<void> {
    const { engine } = this.#deps;
    try {
      await engine.json({ method: 'POST', path: `/containers/${part(id)}/start`, deadlineMs: WORK_DEADLINE_MS });
    } catch (error) {
      if (!isCode(error, 'Unavailable')) await this.#delete(id).catch(() => undefined);
      throw error;
    }
  }

  async stop(id: string, graceMs: number): Promise<void> {
    const { containers, store } = this.#deps;
    const found = await store.inspect(id);
    if (found === undefined || !isSandbox(labelsOf(found))) return;
    const own = await store.containersOf(found);
    await Promise.all(own.map(({ Id }) => containers.stop(Id, graceMs)));
    // Nothing in it needs a grace.
    await containers.stop(id, 0);
  }

  /** Files go first: the sandbox is what reminds the next kubelet of them. */
  async remove(id: string): Promise<void> {
    const { containers, store, files, logs } = this.#deps;
    const found = await store.inspect(id);
    if (found === undefined || !isSandbox(labelsOf(found))) return;
    const own = await store.containersOf(found);
    for (const { Id } of own) {
      const container = await store.inspect(Id);
      if (container !== undefined && stateOf(container) === 'running')
        throw new RuntimeError(
          'IllegalState',
          `container ${containerNameOf(labelsOf(container))} of sandbox ${id} still runs`,
        );
    }
    if (stateOf(found) === 'running') await containers.stop(id, 0);
    await Promise.all(own.map(({ Id }) => containers.remove(Id)));
    await Promise.all(own.map(({ Id }) => logs.ended(Id)));
    const pod = storedSandbox(labelsOf(found));
    const sandboxes = await this.#sandboxesOf(pod.podUid);
    if (sandboxes.every(({ Id }) => Id === id)) files.remove(pod);
    await this.#delete(id);
    store.unburyAll(id);
  }

  async #delete(id: string): Promise<void> {
    const path = `/containers/${part(id)}`;
    const query = { v: 'true' };
    await unlessGone(this.#deps.engine.json({ method: 'DELETE', path, query, deadlineMs: WORK_DEADLINE_MS }));
  }

  async #sandboxesOf(podUid: string): Promise<readonly ListedContainer[]> {
    return (await this.#deps.store.listed(podUid)).filter((each) => isSandbox(listedLabels(each)));
  }
}
