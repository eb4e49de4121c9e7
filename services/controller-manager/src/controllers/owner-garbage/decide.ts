import type { KubeObject } from '@holdfast/api';
import { isTerminating } from '../../common/meta.ts';

export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';

/** The state of one owner in an owner reference. */
export type OwnerState =
  /** It exists, or its state is unknown. */
  | 'present'
  /** Proven absent by a live answer; another object under its name counts as absent. */
  | 'absent'
  /** It is being deleted and waits for its dependents. */
  | 'waiting';

export interface OwnershipSnapshot {
  /** The live object. */
  readonly object: KubeObject;
  /** By owner uid. */
  readonly owners: ReadonlyMap<string, OwnerState>;
  /** Objects that name this one as an owner. */
  readonly dependents: readonly KubeObject[];
}

export type OwnershipAction =
  | { readonly type: 'drop-owners'; readonly ownerUids: ReadonlySet<string> }
  | { readonly type: 'delete'; readonly propagationPolicy: 'Background' | 'Foreground' | 'Orphan' }
  | { readonly type: 'finish'; readonly finalizer: typeof FOREGROUND | typeof ORPHAN }
  | { readonly type: 'orphan-dependents' };

/** An object lives as long as one of its owners does. One whose owners are all gone follows them, gracefully. */
export function decide({ object, owners, dependents }: OwnershipSnapshot): OwnershipAction | undefined {
  if (isTerminating(object)) return finishDeletion(object, dependents);
  const references = object.metadata.ownerReferences ?? [];
  if (references.length === 0) return undefined;
  const inState = (state: OwnerState): Set<string> =>
    new Set(references.map(({ uid }) => uid).filter((uid) => (owners.get(uid) ?? 'present') === state));
  const present = inState('present');
  const leaving = new Set([...inState('absent'), ...inState('waiting')]);
  if (present.size > 0) return leaving.size > 0 ? { type: 'drop-owners', ownerUids: leaving } : undefined;
  if (inState('waiting').size > 0 && dependents.length > 0) return { type: 'delete', propagationPolicy: 'Foreground' };
  return { type: 'delete', propagationPolicy: policyOf(object) };
}

/** A deletion policy of the user on the object itself overrides that of its owners. */
function policyOf(object: KubeObject): 'Background' | 'Foreground' | 'Orphan' {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background';
}

function finishDeletion(object: KubeObject, dependents: readonly KubeObject[]): OwnershipAction | undefined {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(ORPHAN)) return { type: 'orphan-dependents' };
  if (!finalizers.includes(FOREGROUND)) return undefined;
  const isBlocked = dependents.some((dependent) => blocks(dependent, object.metadata.uid));
  return isBlocked ? undefined : { type: 'finish', finalizer: FOREGROUND };
}

export const blocks = (dependent: KubeObject, ownerUid: string | undefined): boolean =>
  dependent.metadata.ownerReferences?.some((owner) => owner.uid === ownerUid && owner.blockOwnerDeletion === true) ===
  true;

export const isWaitingForDependents = (object: KubeObject): boolean =>
  isTerminating(object) && object.metadata.finalizers?.includes(FOREGROUND) === true;

/** Worth a look of its own: it has owners that it may have to follow, or is on its way out and waits for its dependents. */
export const isOfInterest = (object: KubeObject): boolean =>
  isTerminating(object)
    ? (object.metadata.finalizers ?? []).some((f) => f === FOREGROUND || f === ORPHAN)
    : (object.metadata.ownerReferences ?? []).length > 0;
