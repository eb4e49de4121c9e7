import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolume, PODS, type Pod } from '@holdfast/api';
import type { ControllerContext } from '../../common/context.ts';
import { nameOf, parseKey, uidOf } from '../../common/meta.ts';

/** Defined in the cache indexes. */
const USES_CLAIM = 'usesClaim';

/** Pods on a node, with the claim that the volume is bound to. */
export function usersOf({ informers }: Pick<ControllerContext, 'informers'>, volume: PersistentVolume): readonly Pod[] {
  const { claimRef } = volume.spec;
  if (claimRef === undefined) return [];
  const key = `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`;
  const claim = informers.of(PERSISTENT_VOLUME_CLAIMS).get(parseKey(key));
  if (claim === undefined || uidOf(claim) !== claimRef.uid || claim.spec.volumeName !== nameOf(volume)) return [];
  const pods = informers.of(PODS).byIndex(USES_CLAIM, key);
  return pods.filter(({ spec }) => (spec.nodeName ?? '') !== '');
}
