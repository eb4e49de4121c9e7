import { type Clock, describeError } from '@holdfast/platform';
import { closedError, isCode, unconfirmed, unlessGone } from '../engine-errors.ts';
import type { PodFiles } from '../pod-files.ts';
import { type ContainerConfig, RuntimeError } from '../port.ts';
import { Starts } from '../starts.ts';
import { untilEnded } from './container-end.ts';
import { type Engine, part } from './engine.ts';
import type { InspectedContainer } from './engine-types.ts';
import { attemptOf, containerNameOf, isContainer, storedSandbox } from './labels.ts';
import { PROCESSES_GONE_LOOKS_MAX, PROCESSES_GONE_POLL_MS, STOP_CONFIRM_MS, WORK_DEADLINE_MS } from './limits.ts';
import { killLeftOver, processesOf } from './local-processes.ts';
import { labelsOf, stateOf } from './records.ts';
import { containerName, containerRequest, type RequestPlace } from './requests.ts';
import { type DockerStore, listedLabels, sharesProcesses } from './store.ts';
import { isPodman } from './versions.ts';

export interface ContainersDeps {
  readonly engine: Engine;
  readonly store: DockerStore;
  readonly files: PodFiles;
  readonly clock: Clock;
  readonly place: RequestPlace;
}

/** When a stop kills. */
interface Deadline {
  readonly passed: Promise<void>;
  readonly hasGrace: () => boolean;
  readonly cancel: () => void;
  readonly shorten: (graceMs: number) => void;
}

/** A stop in progress. A second one can only shorten it. */
interface Stop {
  readonly done: Promise<void>;
  readonly shorten: (graceMs: number) => void;
}

const STOP_ATTEMPTS_MAX = 3;
const DEFAULT_STOP_SIGNAL = 'SIGTERM';

/** The lives of containers, with what the port promises beyond the engine. */
export class DockerContainers {
  readonly #deps: ContainersDeps;
  readonly #starts = new Starts();
  readonly #stops = new Map<string, Stop>();

  constructor(deps: ContainersDeps) {
    this.#deps = deps;
  }

  async create(sandboxId: string, config: ContainerConfig): Promise<string> {
    const { engine, store, files, place } = this.#deps;
    const found = await store.sandbox(sandboxId);
    const sandbox = storedSandbox(labelsOf(found));
    const same = (await store.containersOf(found)).find((each) => {
      const labels = listedLabels(each);
      return containerNameOf(labels) === config.name && attemptOf(labels) === config.restartCount;
    });
    if (same !== undefined) return same.Id;
    if (!found.State.Running) throw new RuntimeError('IllegalState', `sandbox ${sandboxId} is stopped`);
    files.prepareContainer(sandbox, config.name);
    const { Id } = await engine.json<{ readonly Id: string }>({
      method: 'POST',
      path: '/containers/create',
      query: { name: containerName(sandbox, config) },
      body: containerRequest(
        config,
        { id: sandboxId, sandbox },
        { ...place, isPodman: isPodman(await engine.version()) },
      ),
      deadlineMs: WORK_DEADLINE_MS,
    });
    return Id;
  }

  /** A stop that comes meanwhile waits for its end. */
  start(id: string): Promise<void> {
    return this.#starts.run(id, () => this.#start(id));
  }

  async #start(id: string): Promise<void> {
    const { engine, store } = this.#deps;
    if (store.isBuried(id)) return;
    const before = await store.inspect(id);
    if (before === undefined) throw new RuntimeError('NotFound', `container ${id} does not exist`);
    if (stateOf(before) !== 'created') return;
    const path = `/containers/${part(id)}/start`;
    try {
      await engine.json({ method: 'POST', path, deadlineMs: WORK_DEADLINE_MS });
    } catch (error) {
      // It was started by a request without a response, or it could not start: its state tells which.
      const after = await store.inspect(id);
      if (after === undefined) throw error;
      if (stateOf(after) === 'created') await this.#refused(id, error);
    }
  }

  /** Podman keeps no reason of a start that failed: it is noted here. Rejects where the start may be tried again. */
  async #refused(id: string, error: unknown): Promise<void> {
    const { engine, store } = this.#deps;
    if (!isCode(error, 'Internal') || !isPodman(await engine.version())) throw error;
    store.noteUnstartable(id, describeError(error));
  }

  async stop(id: string, graceMs: number): Promise<void> {
    const running = this.#stops.get(id);
    if (running !== undefined) {
      running.shorten(graceMs);
      return running.done;
    }
    const deadline = this.#deadline(graceMs);
    const done = this.#stop(id, deadline);
    this.#stops.set(id, { done, shorten: deadline.shorten });
    try {
      await done;
    } finally {
      deadline.cancel();
      this.#stops.delete(id);
    }
  }

  /** Counts from now. */
  #deadline(graceMs: number): Deadline {
    const { clock } = this.#deps;
    const passed = Promise.withResolvers<void>();
    let at = clock.monotonic() + graceMs;
    let timer = clock.timer(graceMs, () => passed.resolve());
    return {
      passed: passed.promise,
      hasGrace: () => at > clock.monotonic(),
      cancel: () => timer.cancel(),
      shorten: (ms: number): void => {
        const earlier = clock.monotonic() + ms;
        if (earlier >= at) return;
        at = earlier;
        timer.cancel();
        timer = clock.timer(ms, () => passed.resolve());
      },
    };
  }

  async #stop(id: string, deadline: Deadline): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.#starts.settled(id);
      const found = await this.#deps.store.inspect(id);
      if (found === undefined) return;
      const state = stateOf(found);
      if (state === 'exited') return this.#othersGone(found);
      if (state === 'running') return this.#end(found, deadline);
      if (await this.#bury(found)) return;
      if (attempt >= STOP_ATTEMPTS_MAX) throw unconfirmed(id);
    }
  }

  /**
   * It never ran, and a start that is on its way would still happen. Removing it excludes the start: the engine does one
   * of both. The kubelet goes on seeing it, as ended.
   */
  async #bury(found: InspectedContainer): Promise<boolean> {
    const { store } = this.#deps;
    await store.bury(found);
    try {
      await this.#delete(found.Id);
      return true;
    } catch (error) {
      store.unbury(found.Id);
      if (isCode(error, 'Unavailable')) throw error;
      return (await store.inspect(found.Id)) === undefined;
    }
  }

  /** The engine's own stop would also kill when its caller is gone. */
  async #end(found: InspectedContainer, deadline: Deadline): Promise<void> {
    const { engine, clock, store } = this.#deps;
    const { Id: id } = found;
    const leaving = new AbortController();
    const ended = untilEnded(engine, id, leaving.signal);
    ended.catch(() => undefined);
    try {
      if (deadline.hasGrace()) await this.#signal(id, found.Config.StopSignal || DEFAULT_STOP_SIGNAL);
      const isOver = ended.then(() => true);
      if (await Promise.race([isOver, deadline.passed.then(() => false)])) return await this.#othersGone(found);
      if (engine.closed.aborted) throw closedError();
      await this.#signal(id, 'SIGKILL');
      const late = Promise.withResolvers<never>();
      const timer = clock.timer(STOP_CONFIRM_MS, () => late.reject(unconfirmed(id)));
      await Promise.race([ended, late.promise]).finally(() => timer.cancel());
      const after = await store.inspect(id);
      if (after !== undefined && stateOf(after) === 'running') throw unconfirmed(id);
      await this.#othersGone(found);
    } finally {
      leaving.abort();
    }
  }

  /** One that ended meanwhile needs none. */
  async #signal(id: string, signal: string): Promise<void> {
    const path = `/containers/${part(id)}/kill`;
    try {
      await unlessGone(this.#deps.engine.json({ method: 'POST', path, query: { signal } }));
    } catch (error) {
      if (!isCode(error, 'IllegalState')) throw error;
    }
  }

  /**
   * In a namespace of its own the kernel ended them with the first one; else Docker killed them just then, and Podman
   * lets commands beside the container run on.
   */
  async #othersGone(found: InspectedContainer): Promise<void> {
    if (!sharesProcesses(found)) return;
    for (let look = 1; processesOf(found.Id).length > 0; look++) {
      if (look >= PROCESSES_GONE_LOOKS_MAX) throw unconfirmed(found.Id);
      killLeftOver(found.Id);
      await this.#deps.clock.sleep(PROCESSES_GONE_POLL_MS);
    }
  }

  async remove(id: string): Promise<void> {
    const { store } = this.#deps;
    if (store.isBuried(id)) {
      store.unbury(id);
      return;
    }
    const found = await store.inspect(id);
    if (found === undefined || !isContainer(labelsOf(found))) return;
    if (stateOf(found) === 'running' || this.#starts.has(id))
      throw new RuntimeError('IllegalState', `container ${containerNameOf(labelsOf(found))} still runs`);
    await this.#delete(id);
  }

  /** Refused by the engine while it runs. Volumes that its image declares go with it. */
  async #delete(id: string): Promise<void> {
    const { engine } = this.#deps;
    const path = `/containers/${part(id)}`;
    await unlessGone(engine.json({ method: 'DELETE', path, query: { v: 'true' }, deadlineMs: WORK_DEADLINE_MS }));
  }
}
