import type { ReplicaSet } from '@holdfast/api';
import { isSame } from '../../common/hash.ts';
import { uidOf } from '../../common/meta.ts';

/** The wanted state of one ReplicaSet after a pass. */
export interface PlannedSet {
  readonly set: ReplicaSet;
  readonly replicas: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly minReadySeconds: number | undefined;
}

export const asIs = (set: ReplicaSet): PlannedSet => ({
  set,
  replicas: sizeOf(set),
  annotations: set.metadata.annotations ?? {},
  minReadySeconds: set.spec.minReadySeconds,
});

export const sizeOf = (set: ReplicaSet): number => set.spec.replicas ?? 1;

export const totalReplicas = (planned: readonly PlannedSet[]): number =>
  planned.reduce((sum, { replicas }) => sum + replicas, 0);

/** Returns the reliably available pods: never more than the set is still asked to keep. */
export const availableOf = ({ set, replicas }: PlannedSet): number =>
  Math.min(set.status.availableReplicas ?? 0, replicas);

export const totalAvailable = (planned: readonly PlannedSet[]): number =>
  planned.reduce((sum, one) => sum + availableOf(one), 0);

export const isSameSet = (planned: PlannedSet, set: ReplicaSet | undefined): boolean =>
  set !== undefined && uidOf(planned.set) === uidOf(set);

/** The object to store, or undefined when the stored one is as planned. */
export function changedSet({ set, replicas, annotations, minReadySeconds }: PlannedSet): ReplicaSet | undefined {
  const same =
    sizeOf(set) === replicas &&
    (set.spec.minReadySeconds ?? 0) === (minReadySeconds ?? 0) &&
    isSame(set.metadata.annotations ?? {}, annotations);
  if (same) return undefined;
  const spec = { ...set.spec, replicas, ...(minReadySeconds === undefined ? {} : { minReadySeconds }) };
  return { ...set, metadata: { ...set.metadata, annotations }, spec };
}
