import { type Pod, type ReplicaSet, selectorOf } from '@holdfast/api';
import { controllerOf, isTerminating, uidOf } from './meta.ts';

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
  const selector = selectorOf(owner.spec.selector);
  const ownerUid = uidOf(owner);
  const mayAdopt = !isTerminating(owner);
  const sorted = { owned: [] as T[], adopt: [] as T[], release: [] as T[] };
  // One loop: an owner with a thousand pods is processed many times a second.
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    if (controller === undefined ? !mayAdopt : controller.uid !== ownerUid) continue;
    const isMatch = selector.matches(candidate.metadata.labels);
    if (controller !== undefined && isMatch) sorted.owned.push(candidate);
    else if (isTerminating(candidate)) continue;
    else if (controller !== undefined) sorted.release.push(candidate);
    else if (isMatch) sorted.adopt.push(candidate);
  }
  return sorted;
}
