import {
  BIND_COMPLETED_ANNOTATION,
  BOUND_BY_CONTROLLER_ANNOTATION,
  NO_PROVISIONER,
  namesStorageClass,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_PROVISIONER_ANNOTATION,
  type StorageClass,
  selectedNodeOf,
  storageClassOf,
} from '@holdfast/api';
import { isSame } from '../../common/hash.ts';
import { nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { bestVolume, isFor, mismatchOf } from './matching.ts';

export interface ClaimSnapshot {
  readonly claim: PersistentVolumeClaim;
  /** The volume that the claim names. */
  readonly named: PersistentVolume | undefined;
  /** Free volumes of its class, and volumes reserved for it. */
  readonly candidates: readonly PersistentVolume[];
  /** Undefined when there is none of that name. */
  readonly storageClass: StorageClass | undefined;
  /** The class of claims that name none. */
  readonly defaultClass: StorageClass | undefined;
}

export interface BindingEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The one next write, whose own change wakes the next pass; and what there is to say. */
export interface ClaimDecision {
  readonly write?:
    | { readonly kind: 'volume'; readonly object: PersistentVolume }
    | { readonly kind: 'claim' | 'claim-status'; readonly object: PersistentVolumeClaim };
  readonly event?: BindingEvent;
}

/** One step towards a bound claim. */
export function decideClaim(snapshot: ClaimSnapshot): ClaimDecision {
  const { claim, named } = snapshot;
  if (claim.metadata.annotations?.[BIND_COMPLETED_ANNOTATION] !== undefined) return decideBound(claim, named);
  if ((claim.spec.volumeName ?? '') === '') return decideFree(snapshot);
  if (named === undefined) return inPhase(claim, 'Pending');
  if (isFor(named, claim)) return bind(claim, named);
  if (named.spec.claimRef !== undefined) {
    const message = `volume "${nameOf(named)}" already bound to a different claim.`;
    return inPhase(claim, 'Pending', { type: 'Warning', reason: 'FailedBinding', message });
  }
  const mismatch = mismatchOf(named, claim);
  if (mismatch === undefined) return bind(claim, named);
  const message = `Cannot bind to requested volume "${nameOf(named)}": ${mismatch}`;
  return inPhase(claim, 'Pending', { type: 'Warning', reason: 'VolumeMismatch', message });
}

function decideBound(claim: PersistentVolumeClaim, named: PersistentVolume | undefined): ClaimDecision {
  if ((claim.spec.volumeName ?? '') === '') {
    return lost(claim, 'ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!');
  }
  if (named === undefined) {
    return lost(claim, 'ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  }
  const isOurs = named.spec.claimRef === undefined || named.spec.claimRef.uid === uidOf(claim);
  if (isOurs) return bind(claim, named);
  return lost(claim, 'ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}

/**
 * Whether the claim has to wait for its pod is a matter of the class alone. A selected node only requests a volume to
 * be made there: a free volume may be out of reach of that node.
 */
function decideFree(snapshot: ClaimSnapshot): ClaimDecision {
  const { claim, candidates, storageClass } = snapshot;
  const waitsForPod = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
  const volume = bestVolume(claim, candidates, waitsForPod);
  if (volume !== undefined) return bind(claim, volume);
  if (waitsForPod && selectedNodeOf(claim) === undefined) {
    const message = 'waiting for first consumer to be created before binding';
    return inPhase(claim, 'Pending', { type: 'Normal', reason: 'WaitForFirstConsumer', message });
  }
  return storageClassOf(claim) === '' ? withoutClass(snapshot) : unprovisioned(claim, storageClass);
}

/** A default class may be made after the claim: the claim gets it then, unless it asked for no class. */
function withoutClass({ claim, defaultClass }: ClaimSnapshot): ClaimDecision {
  if (defaultClass !== undefined && !namesStorageClass(claim)) {
    const spec = { ...claim.spec, storageClassName: nameOf(defaultClass) };
    return { write: { kind: 'claim', object: { ...claim, spec } } };
  }
  const message = 'no persistent volumes available for this claim and no storage class is set';
  return inPhase(claim, 'Pending', { type: 'Normal', reason: 'FailedBinding', message });
}

/** This controller provisions no volumes; an annotation requests it from an external driver, as it expects. */
function unprovisioned(claim: PersistentVolumeClaim, storageClass: StorageClass | undefined): ClaimDecision {
  if (storageClass === undefined) {
    const message = `storageclass.storage.k8s.io "${storageClassOf(claim)}" not found`;
    return inPhase(claim, 'Pending', { type: 'Warning', reason: 'ProvisioningFailed', message });
  }
  const { provisioner } = storageClass;
  if (provisioner === NO_PROVISIONER) {
    const message = `no volume plugin matched name: ${provisioner}`;
    return inPhase(claim, 'Pending', { type: 'Warning', reason: 'ProvisioningFailed', message });
  }
  const { annotations = {} } = claim.metadata;
  if (annotations[STORAGE_PROVISIONER_ANNOTATION] !== provisioner) {
    const metadata = {
      ...claim.metadata,
      annotations: { ...annotations, [STORAGE_PROVISIONER_ANNOTATION]: provisioner },
    };
    return { write: { kind: 'claim', object: { ...claim, metadata } } };
  }
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
  return inPhase(claim, 'Pending', { type: 'Normal', reason: 'ExternalProvisioning', message });
}

/** Writes the volume first: a competing claim loses there, before this claim changes. */
function bind(claim: PersistentVolumeClaim, volume: PersistentVolume): ClaimDecision {
  const reserved = reservedFor(claim, volume);
  if (reserved !== undefined) return { write: { kind: 'volume', object: reserved } };
  const naming = namingOf(claim, volume);
  if (naming !== undefined) return { write: { kind: 'claim', object: naming } };
  const { accessModes, capacity } = volume.spec;
  const status = {
    ...claim.status,
    phase: 'Bound',
    ...(accessModes === undefined ? {} : { accessModes }),
    // A volume may be shown larger by who resizes it.
    ...(capacity === undefined || claim.status.phase === 'Bound' ? {} : { capacity }),
  };
  return isSame(status, claim.status) ? {} : { write: { kind: 'claim-status', object: { ...claim, status } } };
}

function reservedFor(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolume | undefined {
  const { claimRef } = volume.spec;
  if (claimRef !== undefined && claimRef.uid === uidOf(claim)) return undefined;
  const reference = {
    ...claimRef,
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    namespace: namespaceOf(claim),
    name: nameOf(claim),
    uid: uidOf(claim),
  };
  const annotations = {
    ...volume.metadata.annotations,
    ...(claimRef === undefined ? { [BOUND_BY_CONTROLLER_ANNOTATION]: 'yes' } : {}),
  };
  const metadata = { ...volume.metadata, annotations };
  return { ...volume, metadata, spec: { ...volume.spec, claimRef: reference } };
}

function namingOf(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim | undefined {
  const { annotations = {} } = claim.metadata;
  const isNamed = (claim.spec.volumeName ?? '') !== '';
  if (isNamed && annotations[BIND_COMPLETED_ANNOTATION] !== undefined) return undefined;
  const marks = { [BIND_COMPLETED_ANNOTATION]: 'yes', ...(isNamed ? {} : { [BOUND_BY_CONTROLLER_ANNOTATION]: 'yes' }) };
  const metadata = { ...claim.metadata, annotations: { ...annotations, ...marks } };
  return { ...claim, metadata, spec: { ...claim.spec, volumeName: nameOf(volume) } };
}

function inPhase(claim: PersistentVolumeClaim, phase: string, event?: BindingEvent): ClaimDecision {
  const said = event === undefined ? {} : { event };
  if (claim.status.phase === phase) return said;
  return { ...said, write: { kind: 'claim-status', object: { ...claim, status: { ...claim.status, phase } } } };
}

/** Reported once, when the claim is found to be lost. */
function lost(claim: PersistentVolumeClaim, reason: string, message: string): ClaimDecision {
  if (claim.status.phase === 'Lost') return {};
  return inPhase(claim, 'Lost', { type: 'Warning', reason, message });
}
