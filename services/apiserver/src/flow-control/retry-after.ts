const SHORTEST_S = 1;
const LONGEST_S = 32;

/** The Retry-After of a level in seconds: doubles while very many requests are rejected, halves when few are. */
export class RetryAfter {
  #seconds = SHORTEST_S;
  #refused = 0;
  #since: number;

  constructor(now: number) {
    this.#since = now;
  }

  /** Counts a rejection; returns its Retry-After. */
  refuse(now: number): number {
    const elapsed = (now - this.#since) / 1_000;
    if (elapsed >= this.#seconds) this.#review(now, elapsed);
    this.#refused += 1;
    return this.#seconds;
  }

  #review(now: number, elapsed: number): void {
    const perSecond = this.#refused / elapsed;
    if (perSecond >= 3 * this.#seconds) this.#seconds = Math.min(LONGEST_S, this.#seconds * 2);
    else if (perSecond < this.#seconds) this.#seconds = Math.max(SHORTEST_S, this.#seconds / 2);
    this.#refused = 0;
    this.#since = now;
  }
}
