import { type BoundIncarnation, boundRecord, readIncarnation } from '@holdfast/kubelet';
import type { Ids } from '@holdfast/platform';
import { isShared, type StoreKind } from './own-nodes.ts';

export interface NodeIdentity {
  readonly incarnation?: string;
  readonly bound?: BoundIncarnation;
}

/**
 * The machine identity of an embedded kubelet. There is none when the only API server of the store is in the same
 * process: nothing else can run the node then, and a start as another user, who reads other machine ids, must not count
 * as another machine.
 */
export function nodeIdentity(store: StoreKind, stateDirectory: string, ids: Ids): NodeIdentity {
  if (!isShared(store)) return {};
  return { incarnation: readIncarnation(stateDirectory, ids), bound: boundRecord(stateDirectory) };
}
