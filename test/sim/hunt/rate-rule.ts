import type { Oracle } from '@holdfast/testing';

/**
 * A window, and the most that one process may write and the whole simulation may do in it. Two managers without leases
 * wrote 75 times a second for 17 s until the cache of one had recovered from a cut: that ends, and is no livelock.
 */
const WINDOW_MS = 60_000;
const MOST_WRITES = 3_600;
const MOST_STEPS = 250_000;

/** Clients of a scenario write as fast as they are answered, for as long as it lasts. */
const CLIENTS = 'admin';

/**
 * A livelock: a process writes again and again, or events follow each other without end. Without this rule such a run
 * takes all memory before a deadline of liveness passes.
 */
export class RateRule implements Oracle {
  readonly name = 'work comes to rest';
  readonly #now: () => { readonly elapsedMs: number; readonly steps: number };
  readonly #mostWrites: number;
  readonly #writes = new Map<string, number>();
  #window = -1;
  #stepsBefore = 0;
  #story: string | undefined;

  /** `actors`: how many processes write at once under one name. */
  constructor(now: () => { readonly elapsedMs: number; readonly steps: number }, actors = 1) {
    this.#now = now;
    this.#mostWrites = MOST_WRITES * actors;
  }

  wrote(by: string): void {
    if (by === CLIENTS) return;
    this.#enterWindow();
    const writes = (this.#writes.get(by) ?? 0) + 1;
    this.#writes.set(by, writes);
    if (writes > this.#mostWrites)
      this.#story ??= `${by} wrote more than ${this.#mostWrites} times in ${WINDOW_MS / 1000} s`;
  }

  check(): string | undefined {
    this.#enterWindow();
    if (this.#now().steps - this.#stepsBefore > MOST_STEPS)
      this.#story ??= `more than ${MOST_STEPS} events happened in ${WINDOW_MS / 1000} s`;
    return this.#story;
  }

  #enterWindow(): void {
    const { elapsedMs, steps } = this.#now();
    const window = Math.floor(elapsedMs / WINDOW_MS);
    if (window === this.#window) return;
    this.#window = window;
    this.#stepsBefore = steps;
    this.#writes.clear();
  }
}
