/** The rules of a node as data. `render.ts` writes them for nft; the tests route packets through them. */

export type Family = 'ip' | 'ip6';
export const FAMILIES = ['ip', 'ip6'] as const satisfies readonly Family[];

export type Protocol = 'TCP' | 'UDP' | 'SCTP';
export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const satisfies readonly Protocol[];

export type Side = 'saddr' | 'daddr';

export type Match =
  | { readonly kind: 'address'; readonly side: Side; readonly set: string; readonly not?: true }
  /** Networks, addresses and `first-last`. */
  | { readonly kind: 'ranges'; readonly side: Side; readonly ranges: readonly string[]; readonly not?: true }
  /** The packet arrives over this link from this address. */
  | { readonly kind: 'link'; readonly name: string; readonly source: string }
  /** The address is one of this machine. */
  | { readonly kind: 'local'; readonly side: Side }
  /** Source and destination together. */
  | { readonly kind: 'pair'; readonly set: string }
  /** Destination address, protocol and port together. */
  | { readonly kind: 'destination'; readonly set: string }
  /** Without ports: any port of the protocol. A port is a number or `first-last`. */
  | { readonly kind: 'ports'; readonly protocol: Protocol; readonly ports: readonly string[] }
  | { readonly kind: 'flow'; readonly state: 'known' | 'invalid' }
  /** The destination was changed by a rule of type `balance` or `translate`. */
  | { readonly kind: 'translated' }
  | { readonly kind: 'marked' };

export type Verdict = 'accept' | 'drop' | 'reject' | 'return' | `goto ${string}` | `jump ${string}`;

/** What a verdict map is asked by. */
export type DispatchKey = 'destination' | 'port' | Side;

export type Action =
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  /** Requests that the source address is replaced when the packet leaves. */
  | { readonly kind: 'mark' }
  | { readonly kind: 'masquerade' }
  | { readonly kind: 'dispatch'; readonly by: DispatchKey; readonly map: string }
  /** Sends the flow to a random target of a pool. */
  | { readonly kind: 'balance'; readonly protocol: Protocol; readonly pool: string }
  /** The same after the pool got its slots: targets `offset` to `offset + count - 1` of a map. */
  | {
      readonly kind: 'slots';
      readonly protocol: Protocol;
      readonly map: string;
      readonly offset: number;
      readonly count: number;
    }
  /** Continues in a random chain. */
  | { readonly kind: 'choose'; readonly chains: readonly string[] }
  | { readonly kind: 'translate'; readonly protocol: Protocol; readonly address: string; readonly port: number }
  /** Stores the source address until the set's time-out. */
  | { readonly kind: 'remember'; readonly set: string };

export interface Rule {
  readonly matches: readonly Match[];
  readonly action: Action;
}

export type SetShape =
  | { readonly kind: 'addresses' }
  | { readonly kind: 'networks' }
  | { readonly kind: 'pairs' }
  | { readonly kind: 'destinations' }
  | { readonly kind: 'clients'; readonly timeoutSeconds: number }
  | { readonly kind: 'targets'; readonly protocol: Protocol }
  | { readonly kind: 'verdicts'; readonly by: DispatchKey }
  /** Holds a number of this program's choice. */
  | { readonly kind: 'stamp' };

export interface Hook {
  readonly type: 'nat' | 'filter';
  readonly hook: 'prerouting' | 'output' | 'postrouting' | 'forward' | 'input';
  readonly priority: number;
}

export interface Chain {
  /** Absent: the chain is only reached from others. */
  readonly hook?: Hook | undefined;
  readonly rules: readonly Rule[];
}

/** Elements of a set have the value ''. */
export interface Element {
  readonly set: string;
  readonly key: string;
  readonly value: string;
}

/** The whole table of one address family. */
export interface Table {
  readonly family: Family;
  readonly sets: ReadonlyMap<string, SetShape>;
  readonly elements: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly chains: ReadonlyMap<string, Chain>;
}

/** The smallest step from one table to the next. All of it happens, or nothing. */
export interface TableChange {
  readonly family: Family;
  readonly addSets: readonly (readonly [name: string, shape: SetShape])[];
  readonly addChains: readonly (readonly [name: string, hook: Hook | undefined])[];
  readonly removeElements: readonly Element[];
  readonly addElements: readonly Element[];
  /** These chains get exactly these rules. */
  readonly rules: readonly (readonly [chain: string, rules: readonly Rule[]])[];
  readonly removeChains: readonly string[];
  readonly removeSets: readonly string[];
}

export const rule = (action: Action, ...matches: readonly Match[]): Rule => ({ matches, action });
export const verdict = (to: Verdict, ...matches: readonly Match[]): Rule =>
  rule({ kind: 'verdict', verdict: to }, ...matches);
