/** Ascending set of strings: binary search, insertion in place. */
export class SortedNames {
  readonly #names: string[] = [];

  add(name: string): void {
    const at = this.#lowerBound(name);
    if (this.#names[at] !== name) this.#names.splice(at, 0, name);
  }

  delete(name: string): void {
    const at = this.#lowerBound(name);
    if (this.#names[at] === name) this.#names.splice(at, 1);
  }

  get size(): number {
    return this.#names.length;
  }

  values(): readonly string[] {
    return this.#names;
  }

  #lowerBound(name: string): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#names[middle] ?? '') < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
