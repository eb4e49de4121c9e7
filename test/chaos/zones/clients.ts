import { type Clock, createSystemClock } from '@holdfast/platform';
import { type DurableStore, OutcomeUnknown, StoreUnavailable, type WriteOperation } from '@holdfast/store';
import type { HistoryEvent } from '@holdfast/store/contract';

/** A client waits between two requests, so that long campaigns have histories that can be judged. */
const THINK_MS = 10;
const RETRY_MS = 50;
const REGISTERS = 6;

/**
 * Clients that read registers and write them by compare-and-swap. One that is refused moves on to the next store, as
 * clients of several API servers do.
 */
export class RegisterClients {
  readonly events: HistoryEvent[] = [];
  acknowledged = 0;
  unknown = 0;
  refused = 0;
  readonly #stores: () => readonly DurableStore[];
  readonly #clock: Clock = createSystemClock();
  readonly #running: Promise<unknown>;
  #acknowledgedAt: number;
  #longestMs = 0;
  #moment = 0;
  #value = 0;
  #isEnding = false;

  constructor(stores: () => readonly DurableStore[], clients: number) {
    this.#stores = stores;
    this.#acknowledgedAt = this.#clock.monotonic();
    this.#running = Promise.all(Array.from({ length: clients }, (_, client) => this.#run(client)));
  }

  /** The longest time without an acknowledged write since this was asked last. */
  takeLongestMs(): number {
    this.#note();
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #run(client: number): Promise<void> {
    for (let step = 0, turn = client; !this.#isEnding; step++) {
      const stores = this.#stores();
      const store = stores[turn % stores.length];
      if (store === undefined) return;
      try {
        await this.#step(store, `core/pods/default/r${(client * 7 + step) % REGISTERS}`);
        await this.#clock.sleep(THINK_MS);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.refused += 1;
        turn += 1;
        await this.#clock.sleep(RETRY_MS);
      }
    }
  }

  async #step(store: DurableStore, key: string): Promise<void> {
    const began = this.#moment++;
    const { revision, object } = await store.get(key);
    this.events.push({ kind: 'read', began, ended: this.#moment++, revision, values: new Map([[key, object?.value]]) });
    const value = `"v${this.#value++}"`;
    const operation: WriteOperation =
      object === undefined
        ? { kind: 'create', key, value }
        : { kind: this.#value % 5 === 0 ? 'delete' : 'update', key, value, expectedRevision: object.revision };
    await this.#write(store, [operation]);
  }

  async #write(store: DurableStore, operations: readonly WriteOperation[]): Promise<void> {
    const began = this.#moment++;
    try {
      const result = await store.write(operations);
      if (result.outcome === 'committed') {
        this.acknowledged += 1;
        this.#note();
      }
      this.events.push({ kind: 'write', operations, result, began, ended: this.#moment++ });
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      this.unknown += 1;
      this.events.push({ kind: 'write', operations, result: 'unknown', began, ended: Number.POSITIVE_INFINITY });
    }
  }

  #note(): void {
    const now = this.#clock.monotonic();
    this.#longestMs = Math.max(this.#longestMs, now - this.#acknowledgedAt);
    this.#acknowledgedAt = now;
  }
}
