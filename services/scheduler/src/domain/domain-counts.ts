import type { NodeInfo } from './node-info.ts';

/** Which nodes make up domains. Equal keys mean equal views. */
export interface DomainView {
  readonly key: string;
  readonly topologyKey: string;
  /** Present when only some nodes take part; domains without any pod are known then. */
  readonly counted?: (node: NodeInfo) => boolean;
}

/** How many pods each domain has. Changed with every pod, so that nobody has to sum over nodes. */
export class DomainCounts {
  readonly #view: DomainView;
  /** Domains with pods. */
  readonly #counts = new Map<string, number>();
  /** Domains that have so many pods: there are few different numbers where pods are spread. */
  readonly #withCount = new Map<number, number>();
  readonly #known = new Set<string>();
  /** Absent after a change, until somebody asks. */
  #fewest: number | undefined;

  constructor(view: DomainView) {
    this.#view = view;
  }

  /** Domains with pods, by value of the topology key. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Domains of the view, with pods or without. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  /** Of any known domain. */
  get fewest(): number {
    this.#fewest ??= this.#counts.size < this.#known.size ? 0 : Math.min(...this.#withCount.keys());
    return this.#fewest;
  }

  know(node: NodeInfo): void {
    const domain = this.#domainOf(node);
    if (domain === undefined) return;
    this.#fewest = undefined;
    this.#known.add(domain);
  }

  /** A node that is not there (yet) is in no domain. */
  add(node: NodeInfo | undefined, by: number): void {
    const domain = node === undefined ? undefined : this.#domainOf(node);
    if (domain === undefined) return;
    this.#fewest = undefined;
    const before = this.#counts.get(domain) ?? 0;
    const after = before + by;
    if (before !== 0) this.#shift(before, -1);
    if (after !== 0) this.#shift(after, 1);
    if (after === 0) this.#counts.delete(domain);
    else this.#counts.set(domain, after);
  }

  #domainOf(node: NodeInfo): string | undefined {
    const domain = node.labels[this.#view.topologyKey];
    return domain === undefined || this.#view.counted?.(node) === false ? undefined : domain;
  }

  #shift(count: number, by: 1 | -1): void {
    const domains = (this.#withCount.get(count) ?? 0) + by;
    if (domains === 0) this.#withCount.delete(count);
    else this.#withCount.set(count, domains);
  }
}
