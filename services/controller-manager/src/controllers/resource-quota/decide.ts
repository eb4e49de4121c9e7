import { type CountedKind, isCharged, type KubeObject, type Pod, type ResourceQuota, recount } from '@holdfast/api';
import { isSame } from '../../common/hash.ts';

/** The objects of the quota's namespace, by kind, as the API had them after the quota was read. */
export type Found = readonly { readonly kind: CountedKind; readonly objects: readonly KubeObject[] }[];

export type QuotaAction = {
  readonly type: 'write-status';
  readonly quota: ResourceQuota;
  /**
   * The quota counts something new from this write on. What was let in between the count and the write is in neither:
   * count again.
   */
  readonly countAgain: boolean;
};

/** Returns the new status; nothing when it is up to date. */
export function decide(quota: ResourceQuota, found: Found, now: number): QuotaAction | undefined {
  const status = recount(quota, found, now);
  if (isSame(status, { hard: quota.status.hard ?? {}, used: quota.status.used ?? {} })) return undefined;
  const known = quota.status.hard ?? {};
  const countAgain = Object.keys(status.hard ?? {}).some((name) => !Object.hasOwn(known, name));
  return { type: 'write-status', quota: { ...quota, status }, countAgain };
}

/** The status differs from the spec's limits, or usage is missing. */
export const isStale = ({ spec, status }: ResourceQuota): boolean =>
  status.used === undefined || !isSame(spec.hard ?? {}, status.hard ?? {});

/** True when a change of an object may reduce its usage: admission never reduces it. */
export function freesUsage(object: KubeObject | undefined, old: KubeObject | undefined, now: number): boolean {
  if (old === undefined) return false;
  if (object === undefined) return true;
  if (object.kind === 'Pod') return isCharged(old as Pod, now) && !isCharged(object as Pod, now);
  return (object.kind === 'Service' || object.kind === 'PersistentVolumeClaim') && !isSame(object, old);
}
