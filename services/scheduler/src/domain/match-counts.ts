import { MATCH_COUNTS_MAX } from '../limits.ts';
import { DomainCounts, type DomainView } from './domain-counts.ts';
import { pairsOf } from './label-pair.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

/** The placed pods that a constraint counts. Equal keys mean equal predicates. */
export interface PodGroup {
  readonly key: string;
  /** Present when the whole group is in one namespace: changes elsewhere cost nothing. */
  readonly namespace?: string;
  /** A label that the whole group has (`pairOf`): pods without it cost nothing. */
  readonly pair: string;
  readonly includes: (pod: PodInfo) => boolean;
}

/** The number of pods of a group per node. */
export type CountsByNode = ReadonlyMap<string, number>;

interface Counted {
  readonly group: PodGroup;
  readonly byNode: Map<string, number>;
  /** By the key of the view. */
  readonly domains: Map<string, DomainCounts>;
}

/** What to count, and by which domains. */
export interface Countable {
  readonly placed: () => Iterable<PodInfo>;
  readonly nodes: () => readonly NodeInfo[];
  readonly nodeOf: (name: string) => NodeInfo | undefined;
}

/** Groups of several namespaces. */
const ANYWHERE = '';

/**
 * Counts matching pods by node. A count is built on the first query of a group and kept current after that, so a
 * decision costs as much as the nodes, however many pods are placed. The least recently used groups are evicted.
 */
export class MatchCounts {
  readonly #groups = new Map<string, Counted>();
  /** By namespace and label. */
  readonly #byPlace = new Map<string, Map<string, Counted>>();
  readonly #countable: Countable;
  /** How often all placed pods were counted for a group, or all nodes assigned to domains. */
  recounts = 0;

  constructor(countable: Countable) {
    this.#countable = countable;
  }

  of(group: PodGroup): CountsByNode {
    return this.#counted(group).byNode;
  }

  domainsOf(group: PodGroup, view: DomainView): DomainCounts {
    const { domains, byNode } = this.#counted(group);
    const known = domains.get(view.key);
    if (known !== undefined) return known;
    this.recounts++;
    const counts = new DomainCounts(view);
    const { nodes, nodeOf } = this.#countable;
    if (view.counted !== undefined) for (const node of nodes()) counts.know(node);
    for (const [name, count] of byNode) counts.add(nodeOf(name), count);
    domains.set(view.key, counts);
    return counts;
  }

  #counted(group: PodGroup): Counted {
    const { key } = group;
    const known = this.#groups.get(key);
    if (known !== undefined) {
      this.#groups.delete(key);
      this.#groups.set(key, known);
      return known;
    }
    this.recounts++;
    const counted: Counted = { group, byNode: new Map(), domains: new Map() };
    for (const pod of this.#countable.placed()) if (group.includes(pod)) increase(counted.byNode, pod.nodeName, 1);
    this.#remember(counted);
    return counted;
  }

  /** Nodes were added or removed, or changed labels or taints. */
  domainsMoved(): void {
    for (const { domains } of this.#groups.values()) domains.clear();
  }

  /** The inputs of predicates (labels of namespaces) changed. */
  reset(): void {
    this.#groups.clear();
    this.#byPlace.clear();
  }

  added(pod: PodInfo): void {
    this.#apply(pod, 1);
  }

  removed(pod: PodInfo): void {
    this.#apply(pod, -1);
  }

  #apply(pod: PodInfo, by: 1 | -1): void {
    if (this.#groups.size === 0) return;
    for (const pair of pairsOf(pod)) {
      for (const namespace of [ANYWHERE, pod.namespace])
        this.#count(this.#byPlace.get(placeOf(namespace, pair)), pod, by);
    }
  }

  #count(groups: ReadonlyMap<string, Counted> | undefined, pod: PodInfo, by: 1 | -1): void {
    for (const { group, byNode, domains } of groups?.values() ?? []) {
      if (!group.includes(pod)) continue;
      increase(byNode, pod.nodeName, by);
      for (const counts of domains.values()) counts.add(this.#countable.nodeOf(pod.nodeName), by);
    }
  }

  #remember(counted: Counted): void {
    const { key, namespace = ANYWHERE, pair } = counted.group;
    this.#groups.set(key, counted);
    const place = placeOf(namespace, pair);
    const groups = this.#byPlace.get(place) ?? new Map<string, Counted>();
    this.#byPlace.set(place, groups);
    groups.set(key, counted);
    if (this.#groups.size <= MATCH_COUNTS_MAX) return;
    const [oldest] = this.#groups.values();
    if (oldest !== undefined) this.#forget(oldest.group);
  }

  #forget({ key, namespace = ANYWHERE, pair }: PodGroup): void {
    this.#groups.delete(key);
    const place = placeOf(namespace, pair);
    const groups = this.#byPlace.get(place);
    groups?.delete(key);
    if (groups?.size === 0) this.#byPlace.delete(place);
  }
}

const placeOf = (namespace: string, pair: string): string => `${namespace}/${pair}`;

function increase(byNode: Map<string, number>, node: string, by: 1 | -1): void {
  const count = (byNode.get(node) ?? 0) + by;
  if (count === 0) byNode.delete(node);
  else byNode.set(node, count);
}
