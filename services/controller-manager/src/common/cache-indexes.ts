import {
  BIND_COMPLETED_ANNOTATION,
  csiSourceOf,
  type KubeObject,
  localPathNode,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type ResourceRef,
  selectedNodeOf,
  storageClassOf,
  type VolumeAttachment,
} from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { controllerOf, namespaceOf } from './meta.ts';
import { claimKeysOf } from './pod-claims.ts';

/** All indexes; a cache has those of its kind (`cacheIndexesOf`). */
const CACHE_INDEXES = {
  /** By the uid of the managing controller. */
  controller: (object: KubeObject): readonly string[] => {
    const controller = controllerOf(object);
    return controller === undefined ? [] : [controller.uid];
  },
  /** By namespace: objects without a managing controller. */
  orphan: (object: KubeObject): readonly string[] => (controllerOf(object) === undefined ? [namespaceOf(object)] : []),
  /** By the uid of each owner. */
  owner: (object: KubeObject): readonly string[] =>
    (object.metadata.ownerReferences ?? []).map((reference) => reference.uid),
  /** Pods by the node they are bound to. */
  node: (object: KubeObject): readonly string[] => nodeNameOf(object),
  uid: (object: KubeObject): readonly string[] => [object.metadata.uid ?? ''],
  /** By storage class: volumes without a claim and claims without a volume. */
  freeInClass: (object: KubeObject): readonly string[] => freeInClass(object),
  /** Volumes by the claim that they are reserved for. */
  reservedFor: (object: KubeObject): readonly string[] => {
    const claim = object.kind === 'PersistentVolume' ? (object as PersistentVolume).spec.claimRef : undefined;
    return claim === undefined ? [] : [`${claim.namespace ?? ''}/${claim.name ?? ''}`];
  },
  /** Claims by the volume that they name and are not yet bound to. */
  wantsVolume: (object: KubeObject): readonly string[] => wantedVolume(object),
  /** Local-path volumes by the node with their directory. */
  directoryOn: (object: KubeObject): readonly string[] => {
    const node = object.kind === 'PersistentVolume' ? localPathNode(object as PersistentVolume) : undefined;
    return node === undefined ? [] : [node];
  },
  /** Claims by the node that the scheduler selected for their volume. */
  selectedNode: (object: KubeObject): readonly string[] => {
    const node = object.kind === 'PersistentVolumeClaim' ? selectedNodeOf(object) : undefined;
    return node === undefined ? [] : [node];
  },
  /** Pods by the claims that they use. */
  usesClaim: (object: KubeObject): readonly string[] => (object.kind === 'Pod' ? claimKeysOf(object as Pod) : []),
  /** Volumes by the node that they are attached to. */
  attachedTo: (object: KubeObject): readonly string[] => {
    const attachment = object.kind === 'PersistentVolume' ? (object as PersistentVolume).status.attachment : undefined;
    return attachment === undefined ? [] : [attachment.nodeName];
  },
  /** VolumeAttachments by their volume. */
  ofVolume: (object: KubeObject): readonly string[] => {
    if (object.kind !== 'VolumeAttachment') return [];
    const name = (object as VolumeAttachment).spec.source.persistentVolumeName;
    return name === undefined ? [] : [name];
  },
  /** VolumeAttachments by their node. */
  onNode: (object: KubeObject): readonly string[] =>
    object.kind === 'VolumeAttachment' ? [(object as VolumeAttachment).spec.nodeName] : [],
  /** Volumes by the CSI driver that serves them. */
  driver: (object: KubeObject): readonly string[] => {
    const csi = object.kind === 'PersistentVolume' ? csiSourceOf(object as PersistentVolume) : undefined;
    return csi === undefined ? [] : [csi.driver];
  },
} as const;

/** Indexes that only some kinds have; all other indexes exist for every kind. */
const KINDS_OF: Readonly<Record<string, readonly string[]>> = {
  orphan: ['Pod', 'ReplicaSet', 'ControllerRevision'],
  node: ['Pod'],
  uid: ['ReplicaSet'],
  freeInClass: ['PersistentVolume', 'PersistentVolumeClaim'],
  reservedFor: ['PersistentVolume'],
  wantsVolume: ['PersistentVolumeClaim'],
  directoryOn: ['PersistentVolume'],
  selectedNode: ['PersistentVolumeClaim'],
  usesClaim: ['Pod'],
  attachedTo: ['PersistentVolume'],
  ofVolume: ['VolumeAttachment'],
  onNode: ['VolumeAttachment'],
  driver: ['PersistentVolume'],
} satisfies Partial<Record<keyof typeof CACHE_INDEXES, readonly string[]>>;

type Indexes = Readonly<Record<string, (object: KubeObject) => readonly string[]>>;

const indexesOf = (kind: string): Indexes =>
  Object.fromEntries(
    Object.entries(CACHE_INDEXES).filter(([name]) => ownValue(KINDS_OF, name)?.includes(kind) !== false),
  );

const OF_SOME_KINDS: ReadonlyMap<string, Indexes> = new Map(
  Object.values(KINDS_OF)
    .flat()
    .map((kind) => [kind, indexesOf(kind)]),
);
const OF_OTHER_KINDS = indexesOf('');

/** An unused index would cost time on every change and memory per object. */
export const cacheIndexesOf = ({ kind }: Pick<ResourceRef, 'kind'>): Indexes =>
  OF_SOME_KINDS.get(kind) ?? OF_OTHER_KINDS;

function freeInClass(object: KubeObject): readonly string[] {
  const isFree =
    (object.kind === 'PersistentVolume' && (object as PersistentVolume).spec.claimRef === undefined) ||
    (object.kind === 'PersistentVolumeClaim' && ((object as PersistentVolumeClaim).spec.volumeName ?? '') === '');
  return isFree ? [storageClassOf(object as PersistentVolume | PersistentVolumeClaim)] : [];
}

function wantedVolume(object: KubeObject): readonly string[] {
  if (object.kind !== 'PersistentVolumeClaim') return [];
  const { metadata, spec } = object as PersistentVolumeClaim;
  const isBound = metadata.annotations?.[BIND_COMPLETED_ANNOTATION] !== undefined;
  return isBound || (spec.volumeName ?? '') === '' ? [] : [spec.volumeName ?? ''];
}

function nodeNameOf(object: KubeObject): readonly string[] {
  if (object.kind !== 'Pod' || !('spec' in object)) return [];
  const { spec } = object;
  const isBound = typeof spec === 'object' && spec !== null && 'nodeName' in spec && typeof spec.nodeName === 'string';
  return isBound && spec.nodeName !== '' ? [String(spec.nodeName)] : [];
}
