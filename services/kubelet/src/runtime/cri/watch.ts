import { type Clock, describeError, type Log } from '@holdfast/platform';
import { changedPods } from '../changed-pods.ts';
import type { CriConnection } from './connection.ts';
import { podUidOf } from './labels.ts';
import { LISTEN_RETRY_MS, RELIST_MS } from './limits.ts';
import { type CriStore, statesById } from './store.ts';

export interface WatchDeps {
  readonly connection: CriConnection;
  readonly store: CriStore;
  readonly clock: Clock;
  readonly log: Log;
}

type Listener = (podUid: string) => void;
type States = ReturnType<typeof statesById>;

/**
 * Tells whose containers or sandboxes changed: by the runtime's events where it has them, and else by comparing what it lists,
 * once a second. Looks only while somebody listens.
 */
export class CriWatch {
  readonly #deps: WatchDeps;
  readonly #listeners = new Set<Listener>();
  readonly #stopping = new AbortController();
  #states: States | undefined;
  #listening = false;
  #hasEvents = true;

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

  stop(): void {
    this.#stopping.abort();
  }

  #begin(): void {
    this.#listening = true;
    void this.#follow().catch((error: unknown) => {
      this.#deps.log.error('container changes are no longer observed', { error: describeError(error) });
    });
  }

  async #follow(): Promise<void> {
    while (this.#hasEvents && !this.#stopping.signal.aborted) {
      await this.#compare();
      await this.#listen();
      if (this.#hasEvents) await this.#pause(LISTEN_RETRY_MS);
    }
    while (!this.#stopping.signal.aborted) {
      if (this.#listeners.size > 0) await this.#compare();
      await this.#pause(RELIST_MS);
    }
  }

  /** Resolves when the connection or the runtime ends, or when it has no events. */
  async #listen(): Promise<void> {
    const { connection, log } = this.#deps;
    try {
      for await (const event of connection.listen(this.#stopping.signal))
        this.tell(podUidOf(event.podSandboxStatus?.labels ?? {}));
      // A runtime with the method but without events ends the stream immediately.
      this.#hasEvents = false;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#hasEvents = !isUnimplemented(error);
      if (this.#hasEvents) log.warn('the container runtime sends no events, will retry', { error });
    }
  }

  /** A runtime that does not answer changes nothing: what it did meanwhile is seen when it is back. */
  async #compare(): Promise<void> {
    const { store, log } = this.#deps;
    try {
      const now = statesById(...(await store.listIds(undefined)));
      const before = this.#states;
      this.#states = now;
      if (before !== undefined) for (const podUid of changedPods(before, now)) this.tell(podUid);
    } catch (error) {
      if (!this.#stopping.signal.aborted) log.debug('the container runtime does not answer', { error });
    }
  }

  async #pause(delayMs: number): Promise<void> {
    // Rejects when it is stopped.
    await this.#deps.clock.sleep(delayMs, this.#stopping.signal).catch(() => undefined);
  }
}

function isUnimplemented(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIMPLEMENTED;
}

/** gRPC code. */
const UNIMPLEMENTED = 12;
