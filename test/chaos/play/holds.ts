/** How many steps hold each container down now. */
export class Holds {
  readonly #counts = new Map<string, number>();

  /** Returns what ends the hold; it tells which containers no other step holds down. */
  hold(containers: readonly string[]): () => readonly string[] {
    for (const each of containers) this.#counts.set(each, this.#countOf(each) + 1);
    return () => {
      for (const each of containers) this.#counts.set(each, this.#countOf(each) - 1);
      return containers.filter((each) => this.#countOf(each) === 0);
    };
  }

  #countOf(container: string): number {
    return this.#counts.get(container) ?? 0;
  }
}
