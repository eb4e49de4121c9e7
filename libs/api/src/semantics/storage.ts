import { ownValue } from '@holdfast/machinery';
import type { StorageClass } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { DEFAULT_CLASS_ANNOTATION, OLD_DEFAULT_CLASS_ANNOTATION, STORAGE_CLASS_ANNOTATION } from './well-known.ts';

type Classed = Pick<KubeObject, 'metadata'> & { readonly spec?: { readonly storageClassName?: string } };

/** Returns the class of a volume or claim; empty when it has none. The old annotation overrides the field. */
export const storageClassOf = ({ metadata, spec }: Classed): string =>
  metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec?.storageClassName ?? '';

const DEFAULT_ANNOTATIONS = [DEFAULT_CLASS_ANNOTATION, OLD_DEFAULT_CLASS_ANNOTATION];

/** True for the class of claims that name no class. */
export const isDefaultStorageClass = ({ metadata }: Pick<StorageClass, 'metadata'>): boolean =>
  DEFAULT_ANNOTATIONS.some((key) => ownValue(metadata.annotations, key) === 'true');
