import type { OwnerReference, PersistentVolumeClaim, Pod, StatefulSet } from '@holdfast/api';
import { isSame } from '../../common/hash.ts';
import { controllerReference, isTerminating, nameOf } from '../../common/meta.ts';
import { buildClaims, claimNames, ordinalOf, podNameOf } from './identity.ts';

/** A claim of the set by its name; undefined when there is none. */
export type ClaimNamed = (name: string) => PersistentVolumeClaim | undefined;

/**
 * The claims of a pod whose owners are not what the retention policy asks for, as they should be. An owner's end is their end:
 * the set owns what goes with it, a pod that scaling takes away owns what goes with that pod.
 */
export function claimsToUpdate(
  set: StatefulSet,
  pod: Pod,
  of: { readonly claimNamed: ClaimNamed; readonly isCondemned: boolean },
): readonly PersistentVolumeClaim[] {
  return claimNames(set, nameOf(pod)).flatMap((name) => {
    const claim = of.claimNamed(name);
    const owners = claim === undefined || isTerminating(claim) ? undefined : newOwners(set, pod, claim, of.isCondemned);
    return claim === undefined || owners === undefined ? [] : [withOwners(claim, owners)];
  });
}

/** `undefined` when they are correct, or another controller owns the claim. */
function newOwners(
  set: StatefulSet,
  pod: Pod,
  claim: PersistentVolumeClaim,
  isCondemned: boolean,
): readonly OwnerReference[] | undefined {
  const present = claim.metadata.ownerReferences ?? [];
  const others = present.filter((owner) => !isSetOwner(set, owner) && !isPodOwner(nameOf(pod), owner));
  if (others.some(({ controller }) => controller === true)) return undefined;
  const goesWithPod = deletesWhen(set, 'whenScaled') && isCondemned;
  const goesWithSet = deletesWhen(set, 'whenDeleted') && !goesWithPod;
  const owners = [
    ...others,
    ...(goesWithSet ? [setReference(set)] : []),
    ...(goesWithPod ? [controllerReference(pod, { apiVersion: 'v1', kind: 'Pod' })] : []),
  ];
  return isSame(present, owners) ? undefined : owners;
}

export const setReference = (set: StatefulSet): OwnerReference =>
  controllerReference(set, { apiVersion: 'apps/v1', kind: 'StatefulSet' });

export const deletesWhen = (set: StatefulSet, when: 'whenDeleted' | 'whenScaled'): boolean =>
  set.spec.persistentVolumeClaimRetentionPolicy?.[when] === 'Delete';

const isSetOwner = (set: StatefulSet, { kind, name }: OwnerReference): boolean =>
  kind === 'StatefulSet' && name === nameOf(set);

const isPodOwner = (podName: string, { kind, name }: OwnerReference): boolean => kind === 'Pod' && name === podName;

function withOwners(claim: PersistentVolumeClaim, owners: readonly OwnerReference[]): PersistentVolumeClaim {
  const { ownerReferences: _old, ...metadata } = claim.metadata;
  return { ...claim, metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: [...owners] } };
}

/**
 * The claims that a pod waits for. One may be deleted before the pod has a node, and the pod would wait for ever; those
 * of a running pod are held by it.
 */
export function missingClaims(set: StatefulSet, pod: Pod, claimNamed: ClaimNamed): readonly PersistentVolumeClaim[] {
  const ordinal = ordinalOf(set, pod);
  if (ordinal === undefined || (pod.status.phase ?? 'Pending') !== 'Pending') return [];
  return buildClaims(set, ordinal).filter((claim) => claimNamed(nameOf(claim)) === undefined);
}

/** A claim that is on its way out would take the data of a new pod with it: the ordinal waits for a fresh one. */
export function hasEndingClaim(set: StatefulSet, ordinal: number, claimNamed: ClaimNamed): boolean {
  const podName = podNameOf(set, ordinal);
  return claimNames(set, podName).some((name) => {
    const claim = claimNamed(name);
    if (claim === undefined) return false;
    return isTerminating(claim) || (claim.metadata.ownerReferences ?? []).some((owner) => isPodOwner(podName, owner));
  });
}
