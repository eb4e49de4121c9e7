import type { FieldError } from '@holdfast/machinery';
import type { KubeObject, Strategy } from '../resource.ts';
import type { Check } from '../validation/formats.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../validation/object-meta.ts';

export interface MetaForm {
  readonly namespaced: boolean;
  readonly name: Check;
  readonly standardFinalizers?: boolean;
  /** Whether an update reports what is wrong with the whole metadata again, as some kinds do. */
  readonly wholeOnUpdate?: boolean;
}

type Validation<T> = Pick<Strategy<T>, 'validateCreate' | 'validateUpdate'>;

/** Checks of metadata around those of a kind's own fields; `old` is undefined at create. */
export function checked<T extends KubeObject>(
  meta: MetaForm,
  validate: (out: FieldError[], object: Readonly<T>, old: Readonly<T> | undefined) => void,
): Validation<T> {
  const { standardFinalizers = true, wholeOnUpdate = false } = meta;
  return {
    validateCreate: (object) => {
      const out: FieldError[] = [];
      validateObjectMeta(out, object.metadata, meta);
      validate(out, object, undefined);
      return out;
    },
    validateUpdate: (object, old) => {
      const out: FieldError[] = [];
      validateObjectMetaUpdate(out, object.metadata, old.metadata, { standardFinalizers });
      if (wholeOnUpdate) validateObjectMeta(out, object.metadata, meta);
      validate(out, object, old);
      return out;
    },
  };
}

/** Of a subresource: only an update of metadata, and what is checked here. */
export function checkedUpdate<T extends KubeObject>(
  validate: (out: FieldError[], object: Readonly<T>, old: Readonly<T>) => void,
): Validation<T>['validateUpdate'] {
  return (object, old) => {
    const out: FieldError[] = [];
    validateObjectMetaUpdate(out, object.metadata, old.metadata);
    validate(out, object, old);
    return out;
  };
}
