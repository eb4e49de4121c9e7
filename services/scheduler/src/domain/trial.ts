import { firstRejection, type NamedFilter, type NodeRejection } from '../framework/prepared.ts';
import type { MutableNodeInfo, NodeInfo } from './node-info.ts';
import { type PodInfo, placedOn } from './pod-info.ts';

interface TrialFilter extends Pick<NamedFilter, 'plugin' | 'check' | 'asked'> {
  readonly adjust?: (pod: PodInfo, node: NodeInfo, by: 1 | -1) => void;
}

/**
 * A hypothetical node with other pods on it. The cost depends on that node: checks that depend on more get each change,
 * and neither the node nor the origin of a check is modified.
 */
export class Trial {
  readonly #node: MutableNodeInfo;
  readonly #filters: readonly TrialFilter[];

  constructor(filters: readonly NamedFilter[], node: NodeInfo) {
    this.#node = node.copy();
    this.#filters = filters.map(({ plugin, check, asked, fork }) => ({ plugin, check, asked, ...fork?.() }));
  }

  add(pod: PodInfo): void {
    const placed = placedOn(pod, this.#node.name);
    this.#node.add(placed);
    this.#adjust(placed, 1);
  }

  remove(pod: PodInfo): void {
    this.#node.remove(pod.uid);
    this.#adjust(pod, -1);
  }

  check(): NodeRejection | undefined {
    return firstRejection(this.#filters, this.#node);
  }

  #adjust(pod: PodInfo, by: 1 | -1): void {
    for (const { adjust } of this.#filters) adjust?.(pod, this.#node, by);
  }
}
