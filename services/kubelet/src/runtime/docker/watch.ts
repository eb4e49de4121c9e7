import { type Clock, describeError, type Log } from '@holdfast/platform';
import { changedPods } from '../changed-pods.ts';
import { type Engine, filtersOf } from './engine.ts';
import type { EngineEvent } from './engine-types.ts';
import { JsonLines } from './json-lines.ts';
import { type Owner, ownerFilters, podUidOf } from './labels.ts';
import { LISTEN_RETRY_MS } from './limits.ts';
import { type DockerStore, statesById } from './store.ts';

export interface WatchDeps {
  readonly engine: Engine;
  readonly store: DockerStore;
  readonly owner: Owner;
  readonly clock: Clock;
  readonly log: Log;
}

type Listener = (podUid: string) => void;

/** Tells whose containers changed: by the engine's events, and by comparing the lists around a time without them. */
export class DockerWatch {
  readonly #deps: WatchDeps;
  readonly #listeners = new Set<Listener>();
  #states: ReturnType<typeof statesById> | undefined;
  #listening = false;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (!this.#listening) this.#begin();
    return () => this.#listeners.delete(listener);
  }

  tell(podUid: string): void {
    for (const listener of this.#listeners) listener(podUid);
  }

  #begin(): void {
    this.#listening = true;
    void this.#follow().catch((error: unknown) => {
      this.#deps.log.error('container changes are no longer observed', { error: describeError(error) });
    });
  }

  async #follow(): Promise<void> {
    const { engine, clock, log } = this.#deps;
    while (!engine.closed.aborted) {
      try {
        await this.#listen();
      } catch (error) {
        if (!engine.closed.aborted) log.debug('the Docker engine sends no events, will retry', { error });
      }
      await clock.sleep(LISTEN_RETRY_MS, engine.closed).catch(() => undefined);
    }
  }

  /** Events come from the time of the request on: what changed before is found by the comparison. */
  async #listen(): Promise<void> {
    const { engine, owner } = this.#deps;
    const event = ['create', 'start', 'die', 'destroy', 'oom'];
    const filters = filtersOf({ type: ['container'], event, label: ownerFilters(owner, undefined) });
    const answer = await engine.open({ method: 'GET', path: '/events', query: { filters } });
    await this.#compare();
    const lines = new JsonLines<EngineEvent>();
    for await (const chunk of answer) {
      for (const { Actor } of lines.push(chunk as Buffer)) this.tell(podUidOf(Actor?.Attributes ?? {}));
    }
  }

  async #compare(): Promise<void> {
    const now = statesById(await this.#deps.store.listed(undefined));
    const before = this.#states;
    this.#states = now;
    if (before !== undefined) for (const podUid of changedPods(before, now)) this.tell(podUid);
  }
}
