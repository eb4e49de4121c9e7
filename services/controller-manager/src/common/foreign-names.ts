import { FOREIGN_NAMES_PER_WORKLOAD } from '../limits.ts';

/** Names that a workload asked for and that belong to another pod. */
export class ForeignNames {
  readonly #names = new Map<string, Set<string>>();

  of(key: string): ReadonlySet<string> {
    return this.#names.get(key) ?? new Set();
  }

  add(key: string, name: string): void {
    const names = this.#names.get(key) ?? new Set<string>();
    const [oldest] = names;
    if (names.size >= FOREIGN_NAMES_PER_WORKLOAD && oldest !== undefined) names.delete(oldest);
    names.add(name);
    this.#names.set(key, names);
  }

  forget(key: string): void {
    this.#names.delete(key);
  }
}
