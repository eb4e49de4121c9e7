import { ownValue } from '@holdfast/machinery';
import type { DomainCounts } from './domain-counts.ts';
import type { NodeInfo } from './node-info.ts';

/** Counts by value of one topology key, with a weight. */
export interface Layer {
  readonly topologyKey: string;
  readonly domains: DomainCounts;
  readonly times: number;
}

/**
 * Numbers by topology key and value, combined from counts that are maintained elsewhere. A copy stores only
 * differences.
 */
export class TopologyCounts {
  readonly #layers: readonly Layer[];
  readonly #keys: ReadonlySet<string>;
  readonly #changes = new Map<string, Map<string, number>>();
  /** Pairs with a number other than 0, while each key has one layer. */
  #size = 0;

  constructor(layers: readonly Layer[]) {
    this.#layers = layers;
    this.#keys = new Set(layers.map(({ topologyKey }) => topologyKey));
    for (const { domains } of layers) this.#size += domains.populated;
  }

  copy(): TopologyCounts {
    return new TopologyCounts(this.#layers);
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** A node without the key is in no domain. */
  add(node: NodeInfo, topologyKey: string, amount: number): void {
    const value = ownValue(node.labels, topologyKey);
    if (value === undefined) return;
    const before = this.at(node, topologyKey);
    const changes = this.#changes.get(topologyKey) ?? new Map<string, number>();
    this.#changes.set(topologyKey, changes);
    changes.set(value, (changes.get(value) ?? 0) + amount);
    this.#size += Number(before + amount !== 0) - Number(before !== 0);
  }

  at(node: NodeInfo, topologyKey: string): number {
    let sum = this.#changes.size === 0 ? 0 : this.#changeAt(node, topologyKey);
    for (const { topologyKey: key, domains, times } of this.#layers) {
      if (key === topologyKey) sum += times * (domains.at(node) ?? 0);
    }
    return sum;
  }

  /** True when any key has a positive number for the node's value. */
  touches(node: NodeInfo): boolean {
    for (const topologyKey of this.#keys) if (this.at(node, topologyKey) > 0) return true;
    for (const topologyKey of this.#changes.keys()) if (this.at(node, topologyKey) > 0) return true;
    return false;
  }

  /** The sum over all keys, without differences from the origin. */
  sumOf(node: NodeInfo): number {
    let sum = 0;
    for (const { domains, times } of this.#layers) sum += times * (domains.at(node) ?? 0);
    return sum;
  }

  #changeAt({ labels }: NodeInfo, topologyKey: string): number {
    return this.#changes.get(topologyKey)?.get(ownValue(labels, topologyKey) ?? '') ?? 0;
  }
}
