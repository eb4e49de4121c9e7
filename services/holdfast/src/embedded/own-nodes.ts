import type { StartConfig } from '../config.ts';

export type StoreKind = StartConfig['store']['kind'];

/** Other processes may serve a store on the network. Any other store belongs to this process. */
export const isShared = (store: StoreKind): boolean => store === 'redis';

/** Nodes that the API server accepts whatever machine their Node is bound to, for example by an earlier version. */
export const ownNodes = (store: StoreKind, names: readonly string[]): ReadonlySet<string> =>
  new Set(isShared(store) ? [] : names);
