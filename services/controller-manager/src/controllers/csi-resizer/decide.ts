import { csiSourceOf, isTerminating, type PersistentVolume, type PersistentVolumeClaim } from '@holdfast/api';
import { compareQuantities, formatQuantity, ownValue, parseQuantity, quantityOfUnits } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { findCondition } from '../../common/conditions.ts';
import { uidOf } from '../../common/meta.ts';
import { storageBytes } from '../../csi/volume-form.ts';

const RESIZING = 'Resizing';
const FILE_SYSTEM_PENDING = 'FileSystemResizePending';

export interface ResizeSnapshot {
  readonly driver: string;
  readonly claim: PersistentVolumeClaim;
  /** The one that the claim names. */
  readonly volume: PersistentVolume | undefined;
}

export type ResizeAction =
  | { readonly kind: 'none' }
  /** Says in the claim that it begins. */
  | { readonly kind: 'begin'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'expand'; readonly volume: PersistentVolume; readonly bytes: number };

/** One step towards the size that the claim asks for. The file system is the kubelet's. */
export function decideResize({ driver, claim, volume }: ResizeSnapshot, now: number): ResizeAction {
  if (volume === undefined || !isServed(claim, volume, driver)) return { kind: 'none' };
  const { requests } = claim.spec.resources;
  const bytes = storageBytes(requests);
  if (bytes <= storageBytes(claim.status.capacity)) return { kind: 'none' };
  const isLarge = storageBytes(volume.spec.capacity) >= bytes;
  if (isLarge && isTrue(claim, FILE_SYSTEM_PENDING)) return { kind: 'none' };
  const begun = withStatus(claim, { type: RESIZING, stage: 'ControllerResizeInProgress', size: sizeOf(requests) }, now);
  const isBegun = isTrue(claim, RESIZING) && isAllocated(claim, requests);
  return isBegun ? { kind: 'expand', volume, bytes } : { kind: 'begin', claim: begun };
}

function isServed(claim: PersistentVolumeClaim, volume: PersistentVolume, driver: string): boolean {
  const isBound = claim.status.phase === 'Bound' && volume.spec.claimRef?.uid === uidOf(claim);
  return isBound && csiSourceOf(volume)?.driver === driver && !isTerminating(claim) && !isTerminating(volume);
}

const isTrue = ({ status }: PersistentVolumeClaim, type: string): boolean =>
  findCondition(status.conditions, type)?.status === 'True';

/** The size that was begun is the one that is asked for now. */
function isAllocated({ status }: PersistentVolumeClaim, requests: Sizes): boolean {
  const begun = ownValue(status.allocatedResources, 'storage');
  return begun !== undefined && compareQuantities(parseQuantity(begun), parseQuantity(sizeOf(requests))) === 0;
}

type Sizes = Readonly<Record<string, string>> | undefined;

const sizeOf = (resources: Sizes): string => ownValue(resources, 'storage') ?? '0';

export const sizeText = (bytes: number): string => formatQuantity(quantityOfUnits(bytes, 'BinarySI'));

/** The volume with the size that its driver reports; undefined when it has it. It never shrinks. */
export function withCapacity(volume: PersistentVolume, bytes: number): PersistentVolume | undefined {
  if (storageBytes(volume.spec.capacity) >= bytes) return undefined;
  return { ...volume, spec: { ...volume.spec, capacity: { ...volume.spec.capacity, storage: sizeText(bytes) } } };
}

/** The claim after its driver has expanded the volume: done, or waiting for its node. */
export function afterExpansion(
  claim: PersistentVolumeClaim,
  done: { readonly bytes: number; readonly onNode: boolean },
  now: number,
): PersistentVolumeClaim {
  if (done.onNode) {
    const pending = {
      type: FILE_SYSTEM_PENDING,
      stage: 'NodeResizePending',
      size: sizeOf(claim.spec.resources.requests),
    };
    return withStatus(claim, pending, now);
  }
  const { allocatedResources: _asked, allocatedResourceStatuses: _stages, conditions = [], ...status } = claim.status;
  const left = conditions.filter(({ type }) => type !== RESIZING && type !== FILE_SYSTEM_PENDING);
  const capacity = { ...status.capacity, storage: sizeText(done.bytes) };
  return { ...claim, status: { ...status, ...(left.length === 0 ? {} : { conditions: left }), capacity } };
}

/** The driver refuses the size: a smaller request may be possible. Undefined when the claim says so. */
export function infeasible(claim: PersistentVolumeClaim): PersistentVolumeClaim | undefined {
  const stage = 'ControllerResizeInfeasible';
  if (ownValue(claim.status.allocatedResourceStatuses, 'storage') === stage) return undefined;
  const allocatedResourceStatuses = { ...claim.status.allocatedResourceStatuses, storage: stage };
  return { ...claim, status: { ...claim.status, allocatedResourceStatuses } };
}

function withStatus(
  claim: PersistentVolumeClaim,
  next: { readonly type: string; readonly stage: string; readonly size: string },
  now: number,
): PersistentVolumeClaim {
  const others = (claim.status.conditions ?? []).filter(
    ({ type }) => type !== RESIZING && type !== FILE_SYSTEM_PENDING,
  );
  const message =
    next.type === FILE_SYSTEM_PENDING
      ? 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
      : '';
  const condition = {
    type: next.type,
    status: 'True',
    lastTransitionTime: formatTime(now),
    ...(message === '' ? {} : { message }),
  };
  const { allocatedResources, allocatedResourceStatuses } = claim.status;
  return {
    ...claim,
    status: {
      ...claim.status,
      conditions: [...others, condition],
      allocatedResources: { ...allocatedResources, storage: next.size },
      allocatedResourceStatuses: { ...allocatedResourceStatuses, storage: next.stage },
    },
  };
}
