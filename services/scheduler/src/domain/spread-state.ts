import { ownValue } from '@holdfast/machinery';
import { CriticalPaths } from './critical-paths.ts';
import type { DomainCounts } from './domain-counts.ts';
import type { NodeInfo } from './node-info.ts';

interface Spread {
  readonly topologyKey: string;
  readonly minDomains: number;
}

/** How many matching pods each domain of one constraint has. A domain without any is known with 0. */
export class SpreadState {
  readonly #constraint: Spread;
  readonly #domains: DomainCounts;
  /** Present in trials only: what keeps the minimum exact while one domain changes. */
  readonly #paths: CriticalPaths | undefined;
  /** Counts of the domains that differ from the origin. */
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

  /** In the node's domain; `undefined` when it lacks the key. */
  countAt(node: NodeInfo): number | undefined {
    if (this.#changed.size === 0) return this.#domains.at(node);
    const domain = ownValue(node.labels, this.#constraint.topologyKey);
    return domain === undefined ? undefined : this.countIn(domain);
  }

  /** Of any domain; 0 while there are fewer domains than the pod wants. */
  get fewest(): number {
    if (this.#domains.known.size < this.#constraint.minDomains) return 0;
    return this.#paths === undefined ? this.#domains.fewest : this.#paths.fewest;
  }

  get criticalPaths(): CriticalPaths['pair'] {
    return (this.#paths ?? this.#pathsOfOrigin()).pair;
  }

  /** For trials of one node: the origin keeps its counts. */
  copy(): SpreadState {
    return new SpreadState(this.#constraint, this.#domains, this.#pathsOfOrigin().copy());
  }

  /** Made when the first trial asks: most decisions need none. */
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
