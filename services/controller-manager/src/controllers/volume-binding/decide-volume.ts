import {
  BOUND_BY_CONTROLLER_ANNOTATION,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PROVISIONED_BY_ANNOTATION,
} from '@holdfast/api';
import { nameOf, uidOf } from '../../common/meta.ts';
import { type BindingEvent } from './decide-claim.ts';

export interface VolumeDecision {
  readonly write?: { readonly kind: 'volume' | 'volume-status'; readonly object: PersistentVolume };
  readonly event?: BindingEvent;
}

/** Decides about a volume. `claim` is the one it is reserved for, if it still exists. */
export function decideVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumeDecision {
  const { claimRef } = volume.spec;
  if (claimRef === undefined || (claimRef.uid ?? '') === '') return inPhase(volume, 'Available');
  if (claim === undefined || uidOf(claim) !== claimRef.uid) return release(volume);
  const { volumeName = '' } = claim.spec;
  // Not named yet: the pass of the claim does that.
  if (volumeName === '') return {};
  if (volumeName === nameOf(volume)) return inPhase(volume, 'Bound');
  // Made for this claim, which has another volume by now: nobody needs it.
  const isUnneeded = isProvisioned(volume) && volume.spec.persistentVolumeReclaimPolicy === 'Delete';
  return isUnneeded ? release(volume) : giveBack(volume);
}

const isProvisioned = ({ metadata }: PersistentVolume): boolean =>
  metadata.annotations?.[PROVISIONED_BY_ANNOTATION] !== undefined;

/**
 * The claim has another volume: this one is free again, or stays reserved for a claim of that name when its user
 * requested that.
 */
function giveBack(volume: PersistentVolume): VolumeDecision {
  const { claimRef, ...spec } = volume.spec;
  const { [BOUND_BY_CONTROLLER_ANNOTATION]: byController, ...annotations } = volume.metadata.annotations ?? {};
  if (claimRef === undefined) return {};
  const { uid: _uid, resourceVersion: _revision, ...reserved } = claimRef;
  const kept = byController === undefined ? { ...spec, claimRef: reserved } : spec;
  return {
    write: { kind: 'volume', object: { ...volume, metadata: { ...volume.metadata, annotations }, spec: kept } },
  };
}

/** Its claim is gone. The data stay until a component that can delete them does so. */
function release(volume: PersistentVolume): VolumeDecision {
  const { persistentVolumeReclaimPolicy: policy = 'Retain', csi } = volume.spec;
  const isDriven = csi !== undefined || isProvisioned(volume);
  if (volume.status.phase !== 'Released' && volume.status.phase !== 'Failed') return inPhase(volume, 'Released');
  if (policy === 'Retain' || isDriven || volume.status.phase === 'Failed') return {};
  const what = policy === 'Delete' ? 'deletable' : 'recyclable';
  const message = `error getting ${policy === 'Delete' ? 'deleter' : 'recycler'} volume plugin for volume "${nameOf(volume)}": no ${what} volume plugin matched`;
  const reason = policy === 'Delete' ? 'VolumeFailedDelete' : 'VolumeFailedRecycle';
  return { ...inPhase(volume, 'Failed', message), event: { type: 'Warning', reason, message } };
}

function inPhase(volume: PersistentVolume, phase: string, message?: string): VolumeDecision {
  if (volume.status.phase === phase) return {};
  const { attachment } = volume.status;
  const status = {
    phase,
    ...(message === undefined ? {} : { message }),
    ...(attachment === undefined ? {} : { attachment }),
  };
  return { write: { kind: 'volume-status', object: { ...volume, status } } };
}
