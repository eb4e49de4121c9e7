import type { FieldError } from '@holdfast/machinery';
import type { KubeObject, Strategy } from '../resource.ts';
import type { Check } from '../validation/formats.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../validation/object-meta.ts';

export interface MetaForm {
  readonly namespaced: boolean;
  readonly name: Check;
  readonly standardFinalizers?: boolean;
  /** True for kinds whose updates report all metadata errors a second time. */
  readonly wholeOnUpdate?: boolean;
}

type Validation<T> = Pick<Strategy<T>, 'validateCreate' | 'validateUpdate'> & { readonly leavesMetadata?: boolean };

/** Adds metadata checks around the checks of a kind's own fields; `old` is undefined on create. */
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

/** The checks of an update, in this order: the whole object as on create, metadata against the old one, the change. */
export type UpdateStep = 'whole' | 'metadata' | 'change';

interface Steps<T> {
  readonly whole: (out: FieldError[], object: Readonly<T>, old: Readonly<T> | undefined) => void;
  readonly change?: (out: FieldError[], object: Readonly<T>, old: Readonly<T>) => void;
  readonly onUpdate: readonly UpdateStep[];
}

/** For the kinds whose updates repeat checks: clients see each cause as often as Kubernetes reports it. */
export function checkedInSteps<T extends KubeObject>(meta: MetaForm, steps: Steps<T>): Validation<T> {
  const { standardFinalizers = true } = meta;
  const whole = (out: FieldError[], object: Readonly<T>, old?: Readonly<T>): void => {
    validateObjectMeta(out, object.metadata, meta);
    steps.whole(out, object, old);
  };
  const perform: Readonly<Record<UpdateStep, (out: FieldError[], object: Readonly<T>, old: Readonly<T>) => void>> = {
    whole,
    metadata: (out, object, old) =>
      validateObjectMetaUpdate(out, object.metadata, old.metadata, { standardFinalizers }),
    change: (out, object, old) => steps.change?.(out, object, old),
  };
  return {
    validateCreate: (object) => {
      const out: FieldError[] = [];
      whole(out, object);
      return out;
    },
    validateUpdate: (object, old) => {
      const out: FieldError[] = [];
      for (const step of steps.onUpdate) perform[step](out, object, old);
      return out;
    },
    leavesMetadata: !steps.onUpdate.includes('metadata'),
  };
}

/** For a subresource: checks only the metadata update and `check`. */
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
