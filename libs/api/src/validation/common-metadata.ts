import type { FieldError } from '@holdfast/machinery';
import type { KubeObject } from '../resource.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './object-meta.ts';
import { pathSegmentErrors } from './rbac.ts';

/**
 * Checks of metadata that apply to every kind. They precede the kind's own checks of an update, so clients see some
 * causes twice.
 */
export function commonMetadataErrors(
  object: Readonly<KubeObject>,
  old: Readonly<KubeObject>,
  namespaced: boolean,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateAnyMetadata(out, object, namespaced);
  validateObjectMetaUpdate(out, object.metadata, old.metadata, { standardFinalizers: false });
  return out;
}

/** For kinds without name rules of their own. */
export function validateAnyMetadata(out: FieldError[], object: Readonly<KubeObject>, namespaced: boolean): void {
  validateObjectMeta(out, object.metadata, { namespaced, name: pathSegmentErrors, standardFinalizers: false });
}
