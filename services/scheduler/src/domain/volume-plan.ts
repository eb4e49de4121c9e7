import {
  BIND_COMPLETED_ANNOTATION,
  compileNodeTerms,
  isTerminating,
  NO_PROVISIONER,
  type PersistentVolume,
  type PersistentVolumeClaim,
  selectedNodeOf,
  selectorOf,
  type TopologySelectorTerm,
} from '@holdfast/api';
import { ownValue, parseQuantity, value } from '@holdfast/machinery';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';
import type { Volumes } from './volumes.ts';

/** The claims of a pod by what must happen before it can run. */
export interface PodClaims {
  readonly bound: readonly PersistentVolumeClaim[];
  /** Other components bind these immediately: the pod waits for that. */
  readonly immediate: readonly PersistentVolumeClaim[];
  /** Bound once the pod's node is known. */
  readonly delayed: readonly PersistentVolumeClaim[];
}

/** A string explains why the pod cannot be placed at all. */
export function claimsOf(pod: PodInfo, volumes: Volumes): PodClaims | string {
  const sorted = { bound: [], immediate: [], delayed: [] } as Record<keyof PodClaims, PersistentVolumeClaim[]>;
  for (const { key, name, ephemeral } of pod.claims) {
    const claim = volumes.claim(key);
    const problem = problemOf(claim, name, { pod, ephemeral });
    if (problem !== undefined) return problem;
    if (claim !== undefined) sorted[stageOf(claim, volumes)].push(claim);
  }
  return sorted;
}

function problemOf(
  claim: PersistentVolumeClaim | undefined,
  name: string,
  { pod, ephemeral }: { readonly pod: PodInfo; readonly ephemeral: boolean },
): string | undefined {
  if (claim === undefined) {
    return ephemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
      : `persistentvolumeclaim "${name}" not found`;
  }
  if (claim.status.phase === 'Lost') {
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName ?? ''}"`;
  }
  if (isTerminating(claim)) return `persistentvolumeclaim "${name}" is being deleted`;
  const owned = claim.metadata.ownerReferences?.some(({ uid, controller }) => uid === pod.uid && controller === true);
  if (!ephemeral || owned === true) return undefined;
  return `PVC ${pod.namespace}/${name} was not created for pod ${pod.key} (pod is not owner)`;
}

function stageOf(claim: PersistentVolumeClaim, volumes: Volumes): keyof PodClaims {
  const { volumeName = '', storageClassName = '' } = claim.spec;
  if (volumeName !== '' && isBound(claim)) return 'bound';
  const waits = volumes.storageClass(storageClassName)?.volumeBindingMode === 'WaitForFirstConsumer';
  return waits && volumeName === '' ? 'delayed' : 'immediate';
}

export function isBound({ spec, status, metadata }: PersistentVolumeClaim): boolean {
  return (
    (spec.volumeName ?? '') !== '' &&
    (metadata.annotations?.[BIND_COMPLETED_ANNOTATION] !== undefined || status.phase === 'Bound')
  );
}

export type VolumeConflict = 'node conflict' | 'volume missing' | 'nothing to bind' | 'no space';

/** The writes that let the pod run on the node. */
export interface VolumePlan {
  readonly bindings: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  readonly provisions: readonly PersistentVolumeClaim[];
}

const NOTHING_TO_DO: VolumePlan = { bindings: [], provisions: [] };

/** Plans how the pod's volumes become usable on the node, or returns all obstacles. */
export function planVolumes(
  claims: PodClaims,
  node: NodeInfo,
  volumes: Volumes,
): VolumePlan | readonly VolumeConflict[] {
  const conflicts = new Set<VolumeConflict>();
  for (const claim of claims.bound) {
    const volume = volumes.volume(claim.spec.volumeName ?? '');
    const conflict = boundConflict(volume, node);
    if (conflict === undefined) continue;
    conflicts.add(conflict);
    break;
  }
  const plan = claims.delayed.length === 0 ? NOTHING_TO_DO : planDelayed(claims.delayed, node, volumes);
  if (typeof plan === 'string') conflicts.add(plan);
  if (conflicts.size > 0 || typeof plan === 'string') return [...conflicts];
  return plan;
}

function boundConflict(volume: PersistentVolume | undefined, node: NodeInfo): VolumeConflict | undefined {
  if (volume === undefined) return 'volume missing';
  return reaches(volume, node) ? undefined : 'node conflict';
}

function planDelayed(
  claims: readonly PersistentVolumeClaim[],
  node: NodeInfo,
  volumes: Volumes,
): VolumePlan | VolumeConflict {
  if (claims.some((claim) => (selectedNodeOf(claim) ?? node.name) !== node.name)) return 'nothing to bind';
  const bindings: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const provisions = claims.filter((claim) => selectedNodeOf(claim) !== undefined);
  const taken = new Set<string>();
  // Places small claims first, so that they do not take large volumes.
  for (const claim of claims.toSorted((a, b) => wantedBytes(a) - wantedBytes(b))) {
    if (selectedNodeOf(claim) !== undefined) continue;
    const volume = findVolume(claim, node, { volumes, taken });
    if (volume === undefined) provisions.push(claim);
    else bindings.push({ claim, volume });
    if (volume !== undefined) taken.add(volume.metadata.name ?? '');
  }
  for (const claim of provisions) {
    const conflict = provisionConflict(claim, node, volumes);
    if (conflict !== undefined) return conflict;
  }
  return { bindings, provisions };
}

/** Returns the smallest suitable volume, preferring one that is reserved for the claim. */
function findVolume(
  claim: PersistentVolumeClaim,
  node: NodeInfo,
  { volumes, taken }: { readonly volumes: Volumes; readonly taken: ReadonlySet<string> },
): PersistentVolume | undefined {
  const selector = claim.spec.selector;
  const matcher = selector === undefined ? undefined : selectorOf(selector);
  let best: PersistentVolume | undefined;
  for (const volume of volumes.volumesOfClass(claim.spec.storageClassName ?? '')) {
    if (taken.has(volume.metadata.name ?? '') || !suits(volume, claim) || !reaches(volume, node)) continue;
    const reserved = volume.spec.claimRef !== undefined;
    if (reserved && isFor(volume, claim)) return volume;
    if (reserved || volume.status.phase !== 'Available') continue;
    if (matcher !== undefined && !matcher.matches(volume.metadata.labels)) continue;
    if (best === undefined || capacityOf(volume) < capacityOf(best)) best = volume;
  }
  return best;
}

function suits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const modes = volume.spec.accessModes ?? [];
  return (
    !isTerminating(volume) &&
    (volume.spec.volumeMode ?? 'Filesystem') === (claim.spec.volumeMode ?? 'Filesystem') &&
    (claim.spec.accessModes ?? []).every((mode) => modes.includes(mode)) &&
    capacityOf(volume) >= wantedBytes(claim)
  );
}

function isFor({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (claimRef?.namespace !== metadata.namespace || claimRef?.name !== metadata.name) return false;
  return claimRef?.uid === undefined || claimRef.uid === '' || claimRef.uid === metadata.uid;
}

/** True when a pod on the node can use the volume. */
export function reaches({ spec: { nodeAffinity } }: PersistentVolume, node: NodeInfo): boolean {
  return nodeAffinity?.required === undefined || compileNodeTerms(nodeAffinity.required.nodeSelectorTerms)(node);
}

function provisionConflict(claim: PersistentVolumeClaim, node: NodeInfo, volumes: Volumes): VolumeConflict | undefined {
  const className = claim.spec.storageClassName ?? '';
  const storageClass = volumes.storageClass(className);
  if (storageClass === undefined || storageClass.provisioner === NO_PROVISIONER) return 'nothing to bind';
  const { allowedTopologies = [], provisioner } = storageClass;
  if (allowedTopologies.length > 0 && !allowedTopologies.some((term) => isAllowed(term, node)))
    return 'nothing to bind';
  if (volumes.csiDriver(provisioner)?.spec.storageCapacity !== true) return undefined;
  for (const { capacity, maximumVolumeSize, nodeTopology } of volumes.capacitiesOf(className)) {
    const largest = maximumVolumeSize ?? capacity;
    if (largest === undefined || value(parseQuantity(largest)) < wantedBytes(claim)) continue;
    if (nodeTopology !== undefined && selectorOf(nodeTopology).matches(node.labels)) {
      return undefined;
    }
  }
  return 'no space';
}

function isAllowed({ matchLabelExpressions = [] }: TopologySelectorTerm, { labels }: NodeInfo): boolean {
  return matchLabelExpressions.every(({ key, values }) => values.includes(ownValue(labels, key) ?? ''));
}

const capacityOf = ({ spec: { capacity } }: PersistentVolume): number => bytesOf(capacity?.['storage']);
const wantedBytes = ({ spec: { resources } }: PersistentVolumeClaim): number =>
  bytesOf(resources.requests?.['storage']);
const bytesOf = (quantity: string | undefined): number => (quantity === undefined ? 0 : value(parseQuantity(quantity)));
