import type { KubeObject } from '@holdfast/api';
import { objectKey, type Store, type StoredObject, type StoreKey } from '@holdfast/store';
import { encodeStored } from '../cache/stored-json.ts';
import type { WatchCache } from '../cache/watch-cache.ts';

/** Not an API group: the API can neither read nor write these. */
const GROUP = 'internal.holdfast';

/** A value that one object holds alone. One store object stands for it: creating that object is the allocation. */
export interface Claim {
  readonly key: StoreKey;
  readonly name: string;
}

/** Reads claims. */
export interface ClaimReader {
  /** From the cache: a recent claim may be missing. Helps to pick a value that is likely to be free. */
  readonly isKnown: (key: StoreKey) => boolean;
  /** Linearizable. */
  readonly read: (key: StoreKey) => Promise<StoredObject | undefined>;
}

export const createClaimReader = (store: Store, cache: WatchCache): ClaimReader => ({
  isKnown: (key) => cache.byKey(key) !== undefined,
  read: async (key) => (await store.get(key)).object,
});

export const claimKey = (resource: string, name: string): StoreKey =>
  objectKey({ group: GROUP, resource, namespace: '', name });

/** `kind` names the holder's kind: `ServiceClaim`. */
export function claimValue(kind: string, name: string, { metadata }: Readonly<KubeObject>): string {
  const holder = { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid };
  const claim = { kind, apiVersion: `${GROUP}/v1`, metadata: { name }, holder };
  return encodeStored(claim);
}

/** True when the stored claim was made for this object. */
export function isHeldBy(value: string, { metadata }: Readonly<KubeObject>): boolean {
  const claim: unknown = JSON.parse(value);
  if (typeof claim !== 'object' || claim === null || !('holder' in claim)) return false;
  const { holder } = claim;
  return typeof holder === 'object' && holder !== null && 'uid' in holder && holder.uid === metadata.uid;
}
