import { ownValue } from '@holdfast/machinery';
import type { NodeInfo } from './node-info.ts';

/** The nodes that make up domains. Equal keys mean equal views. */
export interface DomainView {
  readonly key: string;
  readonly topologyKey: string;
  /** Present when only some nodes take part; then domains without a pod are known, too. */
  readonly counted?: (node: NodeInfo) => boolean;
}

const NO_DOMAIN = -1;

/**
 * The number of pods per domain, updated with every pod, so that no decision sums over nodes. It is discarded when a
 * node is added, removed or relabelled, because it caches a node's domain by slot.
 */
export class DomainCounts {
  readonly #view: DomainView;
  readonly #indexOf = new Map<string, number>();
  /** Pods by domain index. */
  readonly #pods: number[] = [];
  readonly #indexBySlot: number[] = [];
  /** Number of domains per pod count: spread pods have few different counts. */
  readonly #withCount = new Map<number, number>();
  readonly #known = new Set<string>();
  #populated = 0;
  /** Absent after a change until the next read. */
  #fewest: number | undefined;

  constructor(view: DomainView) {
    this.#view = view;
  }

  /** The number of domains with pods. */
  get populated(): number {
    return this.#populated;
  }

  /** All domains of the view, with or without pods. */
  get known(): ReadonlySet<string> {
    return this.#known;
  }

  /** The lowest count of any known domain. */
  get fewest(): number {
    this.#fewest ??= this.#populated < this.#known.size ? 0 : Math.min(...this.#withCount.keys());
    return this.#fewest;
  }

  countIn(domain: string): number {
    return this.#pods[this.#indexOf.get(domain) ?? NO_DOMAIN] ?? 0;
  }

  /** The count of the node's domain, even if the node itself does not take part; `undefined` without the key. */
  at(node: NodeInfo): number | undefined {
    const index = this.#indexAt(node);
    return index === NO_DOMAIN ? undefined : this.#pods[index];
  }

  know(node: NodeInfo): void {
    const domain = ownValue(node.labels, this.#view.topologyKey);
    if (domain === undefined || !this.#counts(node)) return;
    this.#fewest = undefined;
    this.#known.add(domain);
  }

  /** A node that is not in the cache (yet) belongs to no domain. */
  add(node: NodeInfo | undefined, by: number): void {
    const index = node === undefined || !this.#counts(node) ? NO_DOMAIN : this.#indexAt(node);
    if (index === NO_DOMAIN) return;
    const before = this.#pods[index] ?? 0;
    const after = before + by;
    this.#pods[index] = after;
    this.#fewest = undefined;
    this.#populated += Number(after !== 0) - Number(before !== 0);
    if (before !== 0) this.#shift(before, -1);
    if (after !== 0) this.#shift(after, 1);
  }

  #counts(node: NodeInfo): boolean {
    return this.#view.counted?.(node) !== false;
  }

  #indexAt(node: NodeInfo): number {
    if (node.slot < 0) return this.#lookUp(node);
    while (this.#indexBySlot.length <= node.slot) this.#indexBySlot.push(UNKNOWN);
    let index = this.#indexBySlot[node.slot] ?? UNKNOWN;
    if (index === UNKNOWN) {
      index = this.#lookUp(node);
      this.#indexBySlot[node.slot] = index;
    }
    return index;
  }

  #lookUp({ labels }: NodeInfo): number {
    const domain = ownValue(labels, this.#view.topologyKey);
    if (domain === undefined) return NO_DOMAIN;
    const known = this.#indexOf.get(domain);
    if (known !== undefined) return known;
    this.#indexOf.set(domain, this.#pods.length);
    return this.#pods.push(0) - 1;
  }

  #shift(count: number, by: 1 | -1): void {
    const domains = (this.#withCount.get(count) ?? 0) + by;
    if (domains === 0) this.#withCount.delete(count);
    else this.#withCount.set(count, domains);
  }
}

/** Not determined yet. */
const UNKNOWN = -2;
