import type { NodeInfo } from './node-info.ts';

/** Numbers by topology key and value. A copy shares its origin's numbers and keeps only what differs. */
export class TopologyCounts {
  readonly #origin: TopologyCounts | undefined;
  readonly #byKey = new Map<string, Map<string, number>>();
  /** Pairs with a number other than 0. */
  #size = 0;

  constructor(origin?: TopologyCounts) {
    this.#origin = origin;
    this.#size = origin === undefined ? 0 : origin.#size;
  }

  copy(): TopologyCounts {
    return new TopologyCounts(this);
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** A node without the key is in no domain. */
  add(node: NodeInfo, topologyKey: string, amount: number): void {
    const value = node.labels[topologyKey];
    if (value === undefined) return;
    const before = this.#get(topologyKey, value);
    const after = before + amount;
    this.#size += Number(after !== 0) - Number(before !== 0);
    const byValue = this.#byKey.get(topologyKey) ?? new Map<string, number>();
    this.#byKey.set(topologyKey, byValue);
    byValue.set(value, after);
  }

  at(node: NodeInfo, topologyKey: string): number {
    const value = node.labels[topologyKey];
    return value === undefined ? 0 : this.#get(topologyKey, value);
  }

  /** Whether any key has a positive number for the node's value. */
  touches(node: NodeInfo): boolean {
    for (const key of this.#keys()) if (this.at(node, key) > 0) return true;
    return false;
  }

  sumOf(node: NodeInfo): number {
    let sum = 0;
    for (const key of this.#keys()) sum += this.at(node, key);
    return sum;
  }

  #get(key: string, value: string): number {
    const own = this.#byKey.get(key)?.get(value);
    if (own !== undefined || this.#origin === undefined) return own ?? 0;
    return this.#origin.#get(key, value);
  }

  #keys(): Iterable<string> {
    if (this.#origin === undefined) return this.#byKey.keys();
    return new Set([...this.#origin.#keys(), ...this.#byKey.keys()]);
  }
}
