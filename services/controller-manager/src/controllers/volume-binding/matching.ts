import type { PersistentVolume, PersistentVolumeClaim } from '@holdfast/api';
import { parseQuantity, value } from '@holdfast/machinery';
import { compareText, isTerminating, nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { labelPredicate } from '../../common/selector.ts';
import { classOf } from '../../common/storage-class.ts';

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
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if (modeOf(volume) !== modeOf(claim)) return 'incompatible volumeMode';
  const offered = volume.spec.accessModes ?? [];
  const isOffered = (claim.spec.accessModes ?? []).every((mode) => offered.includes(mode));
  return isOffered ? undefined : 'incompatible accessMode';
}

/** The one that is reserved for the claim, or else the smallest that suits. A claim that waits for its pod takes only a reserved one. */
export function bestVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  waits: boolean,
): PersistentVolume | undefined {
  const suitable = volumes.filter((volume) => mismatchOf(volume, claim) === undefined);
  const reserved = suitable.filter((volume) => isFor(volume, claim));
  if (reserved.length > 0 || waits) return reserved.sort(bySize)[0];
  const { selector } = claim.spec;
  const selects = selector === undefined ? () => true : labelPredicate(selector);
  return suitable
    .filter(({ spec, status }) => spec.claimRef === undefined && status.phase === 'Available')
    .filter(({ metadata }) => selects(metadata.labels))
    .sort(bySize)[0];
}

const bySize = (a: PersistentVolume, b: PersistentVolume): number =>
  capacityOf(a) - capacityOf(b) || compareText(nameOf(a), nameOf(b));

const capacityOf = ({ spec }: PersistentVolume): number => value(parseQuantity(spec.capacity?.['storage'] ?? '0'));
const requestOf = ({ spec }: PersistentVolumeClaim): number =>
  value(parseQuantity(spec.resources.requests?.['storage'] ?? '0'));
const modeOf = ({ spec }: PersistentVolume | PersistentVolumeClaim): string => spec.volumeMode ?? 'Filesystem';
