import { type Clock, createSystemClock } from '@holdfast/platform';
import { type DurableStore, StoreUnavailable } from '@holdfast/store';
import type { HistoryEvent } from '@holdfast/store/contract';
import { RegisterHistory } from '../../support/register-history.ts';

/** A client waits between two requests, so that long campaigns have histories that can be judged. */
const THINK_MS = 10;
const RETRY_MS = 50;

/**
 * Clients that read registers and write them by compare-and-swap. Each stays with one store, so that every zone is asked
 * all the time: the longest pause is that in which no zone took a write, and not that of a client which waits in a zone
 * that is cut off for an outcome that nobody knows.
 */
export class RegisterClients {
  refused = 0;
  readonly #history = new RegisterHistory(() => this.#note());
  readonly #stores: () => readonly DurableStore[];
  readonly #clock: Clock = createSystemClock();
  readonly #running: Promise<unknown>;
  #acknowledgedAt: number;
  #longestMs = 0;
  #isEnding = false;

  constructor(stores: () => readonly DurableStore[], clients: number) {
    this.#stores = stores;
    this.#acknowledgedAt = this.#clock.monotonic();
    this.#running = Promise.all(Array.from({ length: clients }, (_, client) => this.#run(client)));
  }

  get events(): readonly HistoryEvent[] {
    return this.#history.events;
  }

  get acknowledged(): number {
    return this.#history.acknowledged;
  }

  get unknown(): number {
    return this.#history.unknown;
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
    for (let step = 0; !this.#isEnding; step++) {
      const stores = this.#stores();
      const store = stores[client % stores.length];
      if (store === undefined) return;
      try {
        await this.#history.step(store, client, step);
        await this.#clock.sleep(THINK_MS);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.refused += 1;
        await this.#clock.sleep(RETRY_MS);
      }
    }
  }

  #note(): void {
    const now = this.#clock.monotonic();
    this.#longestMs = Math.max(this.#longestMs, now - this.#acknowledgedAt);
    this.#acknowledgedAt = now;
  }
}
