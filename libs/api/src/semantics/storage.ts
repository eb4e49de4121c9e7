import { ownValue } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform/time';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { isTerminating } from './pods.ts';
import {
  DEFAULT_CLASS_ANNOTATION,
  LOCAL_PATH_FINALIZER,
  LOCAL_PATH_NODE_LABEL,
  LOCAL_PATH_PROVISIONER,
  OLD_DEFAULT_CLASS_ANNOTATION,
  SELECTED_NODE_ANNOTATION,
  STORAGE_CLASS_ANNOTATION,
} from './well-known.ts';

type Classed = Pick<KubeObject, 'metadata'> & { readonly spec?: { readonly storageClassName?: string } };

/** Returns the class of a volume or claim; empty when it has none. The old annotation overrides the field. */
export const storageClassOf = ({ metadata, spec }: Classed): string =>
  metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec?.storageClassName ?? '';

/** True when a claim names its class, even the empty one: only the others get the default class. */
export const namesStorageClass = ({ metadata, spec }: Classed): boolean =>
  spec?.storageClassName !== undefined || ownValue(metadata.annotations, STORAGE_CLASS_ANNOTATION) !== undefined;

const DEFAULT_ANNOTATIONS = [DEFAULT_CLASS_ANNOTATION, OLD_DEFAULT_CLASS_ANNOTATION];

/** True for a class that claims without a class may get. */
export const isDefaultStorageClass = ({ metadata }: Pick<StorageClass, 'metadata'>): boolean =>
  DEFAULT_ANNOTATIONS.some((key) => ownValue(metadata.annotations, key) === 'true');

/** The class of claims that name none: the newest of several default ones, of equally old ones the first by name. */
export function defaultStorageClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const createdAt = ({ metadata }: StorageClass): number => parseTime(metadata.creationTimestamp ?? '') ?? 0;
  const isEarlier = (a: StorageClass, b: StorageClass): boolean => (a.metadata.name ?? '') < (b.metadata.name ?? '');
  const [first] = classes
    .filter(isDefaultStorageClass)
    .sort((a, b) => createdAt(b) - createdAt(a) || (isEarlier(a, b) ? -1 : 1));
  return first;
}

/** The node that the scheduler selected for the volume of a claim, before there is one. */
export const selectedNodeOf = ({ metadata }: Pick<PersistentVolumeClaim, 'metadata'>): string | undefined =>
  ownValue(metadata.annotations, SELECTED_NODE_ANNOTATION);

const SINGLE_NODE_MODES: ReadonlySet<string> = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);

/** True for access modes that let pods of one node at a time write. */
export const isSingleNodeMode = (mode: string): boolean => SINGLE_NODE_MODES.has(mode);

/** The attribute of a local-path volume that names its node. The source of a volume never changes. */
export const LOCAL_PATH_NODE_ATTRIBUTE = 'node';

/** The node whose disk has the directory of a local-path volume; `undefined` for a volume of any other kind. */
export function localPathNode({ spec }: Pick<PersistentVolume, 'spec'>): string | undefined {
  const { csi } = spec;
  if (csi?.driver !== LOCAL_PATH_PROVISIONER) return undefined;
  const node = ownValue(csi.volumeAttributes, LOCAL_PATH_NODE_ATTRIBUTE) ?? '';
  return node === '' ? undefined : node;
}

/** Selects the local-path volumes of a node. */
export const localPathSelector = (nodeName: string): string => `${LOCAL_PATH_NODE_LABEL}=${nodeName}`;

/** True when the node has to remove the volume's directory: only then is the finalizer removed. */
export function isDirectoryDue(volume: Pick<PersistentVolume, 'metadata' | 'spec' | 'status'>): boolean {
  const { finalizers = [] } = volume.metadata;
  const isHeld = isTerminating(volume) && finalizers.includes(LOCAL_PATH_FINALIZER);
  return isHeld && volume.spec.persistentVolumeReclaimPolicy === 'Delete' && volume.status?.phase !== 'Bound';
}
