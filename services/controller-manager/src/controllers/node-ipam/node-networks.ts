import { type ClusterNetwork, overlapOf, subnet, subnetCount } from './cluster-network.ts';

/**
 * The networks that nodes hold. A freed network is given away again only after all others had their turn, so that old
 * routes and connections of its former node have time to end.
 */
export class NodeNetworks {
  readonly #cluster: ClusterNetwork;
  readonly #ofNode = new Map<string, readonly string[]>();
  /** Several nodes may hold the same one: users can write it. */
  readonly #holders = new Map<number, number>();
  #next = 0;

  constructor(cluster: ClusterNetwork) {
    this.#cluster = cluster;
  }

  /** The node holds these networks, and no others. */
  hold(node: string, networks: readonly string[]): void {
    this.release(node);
    this.#ofNode.set(node, networks);
    this.#count(networks, 1);
  }

  release(node: string): void {
    this.#count(this.#ofNode.get(node) ?? [], -1);
    this.#ofNode.delete(node);
  }

  /** A network that no node holds, and that overlaps with none of theirs. `undefined`: all are in use. */
  free(): string | undefined {
    const count = subnetCount(this.#cluster);
    for (let i = 0; i < count; i++) {
      const index = (this.#next + i) % count;
      if (this.#holders.has(index)) continue;
      this.#next = (index + 1) % count;
      return subnet(this.#cluster, index);
    }
    return undefined;
  }

  #count(networks: readonly string[], change: 1 | -1): void {
    for (const network of networks) {
      const [first, last] = overlapOf(this.#cluster, network) ?? [0, -1];
      for (let index = first; index <= last; index++) {
        const holders = (this.#holders.get(index) ?? 0) + change;
        if (holders === 0) this.#holders.delete(index);
        else this.#holders.set(index, holders);
      }
    }
  }
}
