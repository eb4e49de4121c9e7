import { type BoundIncarnation, boundRecord, readIncarnation } from '@holdfast/kubelet';
import type { Ids } from '@holdfast/platform';
import type { StartConfig } from '../config.ts';

type StoreKind = StartConfig['store']['kind'];

/** Others may serve a store on the network; any other store belongs to this process. */
const isShared = (store: StoreKind): boolean => store === 'redis';

export interface NodeIdentity {
  readonly incarnation?: string;
  readonly bound?: BoundIncarnation;
}

/**
 * Which machine an embedded kubelet says it is. It says nothing where the only API server of the store is in the same process: nobody else
 * can run the node, and a start as another user, who reads other ids of the machine, must not be taken for another machine.
 */
export function nodeIdentity(store: StoreKind, stateDirectory: string, ids: Ids): NodeIdentity {
  if (!isShared(store)) return {};
  return { incarnation: readIncarnation(stateDirectory, ids), bound: boundRecord(stateDirectory) };
}

/** Nodes that the API server lets in whatever machine their Node is bound to, such as by an earlier version. */
export const ownNodes = (store: StoreKind, names: readonly string[]): ReadonlySet<string> =>
  new Set(isShared(store) ? [] : names);
