import { ownValue } from '@holdfast/machinery';
import { CriticalPaths } from './critical-paths.ts';
import type { DomainCounts } from './domain-counts.ts';
import type { NodeInfo } from './node-info.ts';

interface Spread {
  readonly topologyKey: string;
  readonly minDomains: number;
}

/** The number of matching pods per domain of one constraint. An empty domain counts as 0. */
export class SpreadState {
  readonly #constraint: Spread;
  readonly #domains: DomainCounts;
  /** Only in trials: keeps the minimum exact while one domain changes. */
  readonly #paths: CriticalPaths | undefined;
  /** Counts of domains that differ from the origin. */
  readonly #changed = new Map<string, number>();
  #origin: CriticalPaths | undefined;

  constructor(constraint: Spread, domains: DomainCounts, paths?: CriticalPaths) {
    this.#constraint = constraint;
    this.#domains = domains;
    this.#paths = paths;
  }

  countIn(domain: string): number {
    return this.#changed.get(domain) ?? this.#domains.countIn(domain);
  }

  /** The count of the node's domain; `undefined` without the key. */
  countAt(node: NodeInfo): number | undefined {
    if (this.#changed.size === 0) return this.#domains.at(node);
    const domain = ownValue(node.labels, this.#constraint.topologyKey);
    return domain === undefined ? undefined : this.countIn(domain);
  }

  /** The lowest count of any domain; 0 while there are fewer domains than `minDomains`. */
  get fewest(): number {
    if (this.#domains.known.size < this.#constraint.minDomains) return 0;
    return this.#paths === undefined ? this.#domains.fewest : this.#paths.fewest;
  }

  get criticalPaths(): CriticalPaths['pair'] {
    return (this.#paths ?? this.#pathsOfOrigin()).pair;
  }

  /** A copy for a trial of one node: the origin is unchanged. */
  copy(): SpreadState {
    return new SpreadState(this.#constraint, this.#domains, this.#pathsOfOrigin().copy());
  }

  /** Computed on the first trial: most decisions need none. */
  #pathsOfOrigin(): CriticalPaths {
    this.#origin ??= pathsOf(this.#domains);
    return this.#origin;
  }

  adjust(node: NodeInfo, by: 1 | -1): void {
    const domain = ownValue(node.labels, this.#constraint.topologyKey);
    if (domain === undefined) return;
    const count = this.countIn(domain) + by;
    this.#changed.set(domain, count);
    this.#paths?.update(domain, count);
  }
}

function pathsOf(domains: DomainCounts): CriticalPaths {
  const paths = new CriticalPaths();
  for (const domain of domains.known) paths.update(domain, domains.countIn(domain));
  return paths;
}
