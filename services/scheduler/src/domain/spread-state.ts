import type { Snapshot } from '../framework/plugin.ts';
import { CriticalPaths } from './critical-paths.ts';
import type { PodGroup } from './match-counts.ts';
import type { NodeInfo } from './node-info.ts';

interface Spread {
  readonly topologyKey: string;
  readonly minDomains: number;
  readonly group: PodGroup;
}

/** How many matching pods each domain of one constraint has. A domain without any is known with 0. */
export class SpreadState {
  readonly #constraint: Spread;
  readonly #counts: ReadonlyMap<string, number>;
  readonly #paths: CriticalPaths;
  /** Counts of the domains that differ from the origin. */
  readonly #changed = new Map<string, number>();

  constructor(constraint: Spread, counts: ReadonlyMap<string, number>, paths: CriticalPaths) {
    this.#constraint = constraint;
    this.#counts = counts;
    this.#paths = paths;
  }

  countIn(domain: string): number {
    return this.#changed.get(domain) ?? this.#counts.get(domain) ?? 0;
  }

  /** Of any domain; 0 while there are fewer domains than the pod wants. */
  get fewest(): number {
    return this.#counts.size < this.#constraint.minDomains ? 0 : this.#paths.fewest;
  }

  get criticalPaths(): CriticalPaths['pair'] {
    return this.#paths.pair;
  }

  /** For trials of one node: the origin keeps its counts. */
  copy(): SpreadState {
    return new SpreadState(this.#constraint, this.#counts, this.#paths.copy());
  }

  adjust(node: NodeInfo, by: 1 | -1): void {
    const domain = node.labels[this.#constraint.topologyKey];
    if (domain === undefined) return;
    const count = this.countIn(domain) + by;
    this.#changed.set(domain, count);
    this.#paths.update(domain, count);
  }
}

/** `counted` says whether a node's domain and pods take part. */
export function spreadState<C extends Spread>(
  constraint: C,
  snapshot: Snapshot,
  counted: (constraint: C, node: NodeInfo) => boolean,
): SpreadState {
  const byNode = snapshot.countsOf(constraint.group);
  const counts = new Map<string, number>();
  for (const node of snapshot.nodes) {
    const domain = node.labels[constraint.topologyKey];
    if (domain === undefined || !counted(constraint, node)) continue;
    counts.set(domain, (counts.get(domain) ?? 0) + (byNode.get(node.name) ?? 0));
  }
  const paths = new CriticalPaths();
  for (const [domain, count] of counts) paths.update(domain, count);
  return new SpreadState(constraint, counts, paths);
}
