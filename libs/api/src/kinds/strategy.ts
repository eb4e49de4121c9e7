import { type FieldError, fieldSetOf, semanticEqual } from '@holdfast/machinery';
import type { KubeObject, SubresourceStrategy, ValidationContext } from '../resource.ts';

/** For kinds without fields to clear or copy. */
export const nothingToPrepare = (): void => {};

type WithSpec = KubeObject & { spec: unknown };
type WithStatus = KubeObject & { status: unknown };

export const specChanged = <T extends WithSpec>(object: Readonly<T>, old: Readonly<T>): boolean =>
  !semanticEqual(object.spec, old.spec);

/** For subresources and verbs that may not change the status. */
export function keepStatus<T extends WithStatus>(object: T, old: Readonly<T>): void {
  object.status = old.status;
}

export function keepSpec<T extends WithSpec>(object: T, old: Readonly<T>): void {
  object.spec = old.spec;
}

/** `/status` of most kinds: the spec is kept. */
export function statusOnly<T extends WithSpec & WithStatus>(
  validateUpdate: (object: Readonly<T>, old: Readonly<T>, context: ValidationContext) => readonly FieldError[],
): SubresourceStrategy<T> {
  return { prepareForUpdate: keepSpec, validateUpdate };
}

/** Fields that a status update of some kinds drops. */
export const SPEC_AND_METADATA = fieldSetOf(['f:spec'], ['f:metadata']);
const OWN_METADATA = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** `/status` of the kinds where it changes only the status. */
export function statusAlone<T extends WithSpec & WithStatus>(
  validateUpdate: SubresourceStrategy<T>['validateUpdate'],
): SubresourceStrategy<T> {
  return {
    resets: SPEC_AND_METADATA,
    prepareForUpdate: (object, old) => {
      keepSpec(object, old);
      const metadata = { ...object.metadata };
      for (const key of OWN_METADATA) {
        delete metadata[key];
        if (old.metadata[key] !== undefined) Object.assign(metadata, { [key]: old.metadata[key] });
      }
      object.metadata = metadata;
    },
    validateUpdate,
  };
}
