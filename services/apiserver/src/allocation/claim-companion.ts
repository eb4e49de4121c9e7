import type { KubeObject } from '@holdfast/api';
import { conflict, MODIFIED_CONCURRENTLY } from '@holdfast/machinery';
import type { StoreKey, WriteOperation } from '@holdfast/store';
import type { AdmissionRequest, WriteCompanion } from '../admission/port.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';
import { subjectOf } from '../objects/object-keys.ts';
import { type Claim, type ClaimReader, claimValue, isHeldBy } from './claims.ts';

/** What the objects of one kind are given: values that the server picks, or that the client names. */
export interface Allocator<T extends KubeObject, C extends Claim> {
  /** The kind of the stored claims. */
  readonly claimKind: string;
  /** The claims of an object with all its values. */
  readonly claimsOf: (object: Readonly<T>) => readonly C[];
  /** All claims that an object may have: earlier versions may have made more. */
  readonly releasable: (object: Readonly<T>) => readonly C[];
  /** Fills in the missing values. Throws when none is left. */
  readonly fill: (object: T, choice: Choice) => void;
  /** The client named a value that another object has. */
  readonly refusal: (object: Readonly<T>, claim: C) => Error;
  /** False: a dry run does not say that the value of this claim is taken. */
  readonly isRehearsed: (claim: C) => boolean;
}

/** Rules for picking values. */
export interface Choice {
  /** Values that turned out to be taken. */
  readonly avoid: ReadonlySet<StoreKey>;
  /** Values that the object has already. */
  readonly held: ReadonlySet<StoreKey>;
  /** Receives the values that the server picks: the client did not ask for these. */
  readonly chosen: Set<StoreKey>;
}

interface Allocation<T, C> {
  readonly object: T;
  readonly added: readonly C[];
  readonly chosen: ReadonlySet<StoreKey>;
}

/**
 * Allocates in the store write of the object itself: creates a claim for each new value, deletes the claims of values
 * that the object no longer has. The store decides who gets a value; a picked value that is taken is picked again.
 */
export function claimCompanion<T extends KubeObject, C extends Claim>(
  allocator: Allocator<T, C>,
  claims: ClaimReader,
  { definition, old: before }: Pick<AdmissionRequest, 'definition' | 'old'>,
): WriteCompanion {
  const old = before as T | undefined;
  const held = old === undefined ? [] : allocator.claimsOf(old);
  const allocate = (wanted: KubeObject, avoid: ReadonlySet<StoreKey>): Allocation<T, C> => {
    const object = structuredClone(wanted) as T;
    const chosen = new Set<StoreKey>();
    allocator.fill(object, { avoid, chosen, held: new Set(held.map(({ key }) => key)) });
    return { object, added: without(allocator.claimsOf(object), held), chosen };
  };
  /** Throws when the client asked for this value. */
  const lose = (claim: C, { object, chosen }: Allocation<T, C>): void => {
    if (!chosen.has(claim.key)) throw allocator.refusal(object, claim);
  };
  return {
    write: async (wanted, commit) => {
      const avoid = new Set<StoreKey>();
      for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt++) {
        const allocation = allocate(wanted, avoid);
        const { object, added } = allocation;
        const creations = added.map((claim) => creationOf(allocator.claimKind, claim, object));
        const freed = old === undefined ? [] : without(allocator.releasable(old), allocator.claimsOf(object));
        const { result, lostOwn } = await commit(object, [...creations, ...(await releases(claims, freed, old))]);
        if (lostOwn === undefined) return result;
        const claim = added[lostOwn];
        if (claim === undefined) continue;
        lose(claim, allocation);
        avoid.add(claim.key);
      }
      throw conflict(subjectOf(definition, wanted.metadata.name ?? ''), MODIFIED_CONCURRENTLY);
    },
    rehearse: async (wanted) => {
      const allocation = allocate(wanted, new Set());
      for (const claim of allocation.added.filter(allocator.isRehearsed)) {
        if ((await claims.read(claim.key)) !== undefined) lose(claim, allocation);
      }
      return allocation.object;
    },
    release: () => releases(claims, old === undefined ? [] : allocator.releasable(old), old),
  };
}

const creationOf = (kind: string, { key, name }: Claim, holder: KubeObject): WriteOperation => ({
  kind: 'create',
  key,
  value: claimValue(kind, name, holder),
});

function without<C extends Claim>(claims: readonly C[], others: readonly Claim[]): readonly C[] {
  const keys = new Set(others.map(({ key }) => key));
  return claims.filter(({ key }) => !keys.has(key));
}

/** Only what was claimed for this very object is given back. */
async function releases(
  claims: ClaimReader,
  freed: readonly Claim[],
  holder: KubeObject | undefined,
): Promise<readonly WriteOperation[]> {
  const operations: WriteOperation[] = [];
  for (const { key } of freed) {
    const stored = await claims.read(key);
    if (stored === undefined || holder === undefined || !isHeldBy(stored.value, holder)) continue;
    operations.push({ kind: 'delete', key, value: stored.value, expectedRevision: stored.revision });
  }
  return operations;
}
