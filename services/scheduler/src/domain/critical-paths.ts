/** A value of a topology key and the number of matching pods in its domain. */
export interface CriticalPath {
  readonly value: string;
  readonly count: number;
}

/** No domain is known yet. */
const NO_PATH: CriticalPath = { value: '', count: 2 ** 31 - 1 };

/**
 * The domain with the fewest matching pods, and another small one. That keeps the minimum exact while the count of a
 * single domain changes, as in the trial of one node. The second is not always the second smallest.
 */
export class CriticalPaths {
  #least: CriticalPath = NO_PATH;
  #next: CriticalPath = NO_PATH;

  get pair(): readonly [CriticalPath, CriticalPath] {
    return [this.#least, this.#next];
  }

  get fewest(): number {
    return this.#least.count;
  }

  update(value: string, count: number): void {
    const path = { value, count };
    if (this.#least.value === value) this.#least = path;
    else if (this.#next.value === value) this.#next = path;
    else if (count < this.#least.count) {
      this.#next = this.#least;
      this.#least = path;
    } else if (count < this.#next.count) this.#next = path;
    if (this.#least.count > this.#next.count) [this.#least, this.#next] = [this.#next, this.#least];
  }

  copy(): CriticalPaths {
    const copy = new CriticalPaths();
    copy.#least = this.#least;
    copy.#next = this.#next;
    return copy;
  }
}
