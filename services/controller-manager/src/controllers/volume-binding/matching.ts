import { type PersistentVolume, type PersistentVolumeClaim, selectorOf, storageClassOf } from '@holdfast/api';
import { EVERYTHING, parseQuantity, value } from '@holdfast/machinery';
import { compareText, isTerminating, nameOf, namespaceOf, uidOf } from '../../common/meta.ts';

/** Reserved for this claim, by a user or by who binds. */
export const isFor = ({ spec: { claimRef } }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  claimRef !== undefined &&
  claimRef.name === nameOf(claim) &&
  claimRef.namespace === namespaceOf(claim) &&
  ((claimRef.uid ?? '') === '' || claimRef.uid === uidOf(claim));

/** Why the volume cannot be what the claim asks for; undefined when it can. */
export function mismatchOf(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (isTerminating(volume)) return 'volume is being deleted';
  if (capacityOf(volume) < requestOf(claim)) return 'requested PV is too small';
  if (storageClassOf(volume) !== storageClassOf(claim)) return 'storageClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  const offered = volume.spec.accessModes ?? [];
  const isOffered = (claim.spec.accessModes ?? []).every((mode) => offered.includes(mode));
  return isOffered ? undefined : 'incompatible accessMode';
}

/**
 * The one that is reserved for the claim, or else the smallest that suits. A claim that waits for its pod takes only a reserved one.
 * The first that is exactly as large as asked for ends the search: a thousand like claims and volumes are a thousand looks each at worst.
 */
export function bestVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  waitsForPod: boolean,
): PersistentVolume | undefined {
  const reserved = volumes.filter((volume) => isFor(volume, claim) && mismatchOf(volume, claim) === undefined);
  if (reserved.length > 0 || waitsForPod) return reserved.sort(bySize)[0];
  const { selector } = claim.spec;
  const selects = selector === undefined ? EVERYTHING : selectorOf(selector);
  const wanted = requestOf(claim);
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (best !== undefined && bySize(best, volume) <= 0) continue;
    const isFree = volume.spec.claimRef === undefined && volume.status.phase === 'Available';
    if (!isFree || !selects.matches(volume.metadata.labels) || mismatchOf(volume, claim) !== undefined) continue;
    best = volume;
    if (capacityOf(volume) === wanted) return volume;
  }
  return best;
}

const bySize = (a: PersistentVolume, b: PersistentVolume): number =>
  capacityOf(a) - capacityOf(b) || compareText(nameOf(a), nameOf(b));

/** Objects of the cache never change: what was read of one stays true. */
const capacities = new WeakMap<PersistentVolume, number>();

function capacityOf(volume: PersistentVolume): number {
  const known = capacities.get(volume);
  if (known !== undefined) return known;
  const capacity = value(parseQuantity(volume.spec.capacity?.['storage'] ?? '0'));
  capacities.set(volume, capacity);
  return capacity;
}

const requestOf = ({ spec }: PersistentVolumeClaim): number =>
  value(parseQuantity(spec.resources.requests?.['storage'] ?? '0'));
const modeOf = ({ spec }: PersistentVolume | PersistentVolumeClaim): string => spec.volumeMode ?? 'Filesystem';
