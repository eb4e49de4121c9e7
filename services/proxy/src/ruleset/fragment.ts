import type { Chain, Element, Protocol, SetShape } from './model.ts';

/** Targets that a rule balances over: `address . port`, without duplicates. */
export interface Pool {
  readonly protocol: Protocol;
  readonly targets: readonly string[];
}

/** An element of a set that several units fill. When two give the same key, the lowest rank wins, then the lowest unit. */
export interface SharedElement extends Element {
  readonly rank: number;
}

/**
 * The part of one family's table that follows from one unit: a service, a policy, a pod. Chains, sets and pools belong
 * to the unit alone, so their names contain the unit's.
 */
export interface Fragment {
  readonly sets: ReadonlyMap<string, SetShape>;
  readonly chains: ReadonlyMap<string, Chain>;
  readonly pools: ReadonlyMap<string, Pool>;
  /** By `set key`. */
  readonly elements: ReadonlyMap<string, SharedElement>;
  /** The targets of the unit's UDP ports, by what clients send to. */
  readonly udpTargets: ReadonlyMap<string, UdpPort>;
}

export interface UdpPort {
  /** Absent: every address of the node. */
  readonly address?: string | undefined;
  readonly port: number;
  /** Addresses. */
  readonly targets: readonly string[];
}

export const EMPTY_FRAGMENT: Fragment = {
  sets: new Map(),
  chains: new Map(),
  pools: new Map(),
  elements: new Map(),
  udpTargets: new Map(),
};

/** Collects the parts of a fragment. */
export class FragmentBuilder {
  readonly sets = new Map<string, SetShape>();
  readonly chains = new Map<string, Chain>();
  readonly pools = new Map<string, Pool>();
  readonly elements = new Map<string, SharedElement>();
  readonly udpTargets = new Map<string, UdpPort>();

  element(
    set: string,
    key: string,
    { value = '', rank = 0 }: { readonly value?: string; readonly rank?: number } = {},
  ): void {
    const known = this.elements.get(`${set} ${key}`);
    if (known === undefined || rank < known.rank) this.elements.set(`${set} ${key}`, { set, key, value, rank });
  }
}
