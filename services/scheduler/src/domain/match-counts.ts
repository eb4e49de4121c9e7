import { MATCH_COUNTS_MAX } from '../limits.ts';
import type { PodInfo } from './pod-info.ts';

/** Which placed pods a constraint counts. Equal keys mean equal predicates. */
export interface PodGroup {
  readonly key: string;
  readonly includes: (pod: PodInfo) => boolean;
}

/** How many pods of a group each node has. */
export type CountsByNode = ReadonlyMap<string, number>;

/**
 * Counts of matching pods by node, built at the first question about a group and kept current after that: a decision costs
 * what the nodes cost, however many pods are placed. Groups that nobody asked about for longest are forgotten.
 */
export class MatchCounts {
  readonly #groups = new Map<string, { readonly group: PodGroup; readonly byNode: Map<string, number> }>();
  readonly #placed: () => Iterable<PodInfo>;

  constructor(placed: () => Iterable<PodInfo>) {
    this.#placed = placed;
  }

  of(group: PodGroup): CountsByNode {
    const { key } = group;
    const known = this.#groups.get(key);
    if (known !== undefined) {
      this.#groups.delete(key);
      this.#groups.set(key, known);
      return known.byNode;
    }
    const byNode = new Map<string, number>();
    for (const pod of this.#placed()) if (group.includes(pod)) increase(byNode, pod.nodeName, 1);
    this.#groups.set(key, { group, byNode });
    this.#forgetOldest();
    return byNode;
  }

  /** What the predicates rest on (labels of namespaces) changed. */
  reset(): void {
    this.#groups.clear();
  }

  added(pod: PodInfo): void {
    this.#apply(pod, 1);
  }

  removed(pod: PodInfo): void {
    this.#apply(pod, -1);
  }

  #apply(pod: PodInfo, by: 1 | -1): void {
    for (const { group, byNode } of this.#groups.values()) {
      if (group.includes(pod)) increase(byNode, pod.nodeName, by);
    }
  }

  #forgetOldest(): void {
    if (this.#groups.size <= MATCH_COUNTS_MAX) return;
    const oldest = this.#groups.keys().next();
    if (oldest.done !== true) this.#groups.delete(oldest.value);
  }
}

function increase(byNode: Map<string, number>, node: string, by: 1 | -1): void {
  const count = (byNode.get(node) ?? 0) + by;
  if (count === 0) byNode.delete(node);
  else byNode.set(node, count);
}
