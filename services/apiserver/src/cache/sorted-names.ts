/** Names in ascending order, sorted lazily: reads are rare among many consecutive additions. */
export class SortedNames {
  #names: string[] = [];
  /** Not in `#names` yet. */
  readonly #added = new Set<string>();

  add(name: string): void {
    // A load adds them in order.
    if (this.#added.size === 0 && (this.#names.length === 0 || (this.#names.at(-1) ?? '') < name)) {
      this.#names.push(name);
      return;
    }
    if (this.#names[this.#lowerBound(name)] !== name) this.#added.add(name);
  }

  delete(name: string): void {
    if (this.#added.delete(name)) return;
    const at = this.#lowerBound(name);
    if (this.#names[at] === name) this.#names.splice(at, 1);
  }

  get size(): number {
    return this.#names.length + this.#added.size;
  }

  values(): readonly string[] {
    if (this.#added.size > 0) this.#takeAdded();
    return this.#names;
  }

  /** Where in `values` the names begin that come after this one. */
  firstAfter(name: string | undefined): number {
    if (name === undefined) return 0;
    const names = this.values();
    // Most lists of names lie before or behind the place as a whole.
    if ((names.at(-1) ?? '') <= name) return names.length;
    const at = this.#lowerBound(name);
    return names[at] === name ? at + 1 : at;
  }

  #takeAdded(): void {
    const added = [...this.#added].sort();
    this.#added.clear();
    this.#names = merged(this.#names, added);
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

/** Two ascending lists without a common name, as one. */
function merged(left: string[], right: string[]): string[] {
  if (left.length === 0) return right;
  const all: string[] = [];
  let next = 0;
  for (const name of right) {
    for (let other = left[next]; other !== undefined && other < name; other = left[++next]) all.push(other);
    all.push(name);
  }
  for (; next < left.length; next++) all.push(left[next] ?? '');
  return all;
}
