import type { Pod, ReplicaSet } from '@holdfast/api';
import { controllerOf, isControlledBy, isTerminating, uidOf } from './meta.ts';
import { labelPredicate } from './selector.ts';

export interface Claim<T> {
  /** Owned and matching. */
  readonly owned: readonly T[];
  /** Matching and without a controller: to be adopted. */
  readonly adopt: readonly T[];
  /** Owned, but the labels no longer match: to be released. */
  readonly release: readonly T[];
}

/** Sorts candidates by who may have them. Objects of another controller are never in the answer. */
export function claim<T extends { readonly metadata: Pod['metadata'] }>(
  owner: {
    readonly metadata: ReplicaSet['metadata'];
    readonly spec: { readonly selector?: ReplicaSet['spec']['selector'] };
  },
  candidates: readonly T[],
): Claim<T> {
  const matches = labelPredicate(owner.spec.selector);
  const ownerUid = uidOf(owner);
  const ofOwner = candidates.filter((candidate) => isControlledBy(candidate, ownerUid));
  const orphans = candidates.filter((candidate) => controllerOf(candidate) === undefined);
  const mayAdopt = !isTerminating(owner);
  return {
    owned: ofOwner.filter((candidate) => matches(candidate.metadata.labels)),
    adopt: mayAdopt ? orphans.filter((orphan) => !isTerminating(orphan) && matches(orphan.metadata.labels)) : [],
    release: ofOwner.filter((candidate) => !matches(candidate.metadata.labels) && !isTerminating(candidate)),
  };
}
