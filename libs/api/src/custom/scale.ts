import { type FieldError, invalid, isNumeric, isWhole, type Json, jsonTypeName } from '@holdfast/machinery';
import type { CustomResourceSubresourceScale } from '../generated/types.ts';
import type { KubeObject, ScaleAccess } from '../resource.ts';
import { setValueAt, stepsOf, valueAt } from './fields.ts';

const INT32_MAX = 2 ** 31 - 1;

/** Accesses the replicas of a custom resource at the paths in its definition. */
export function customScale(scale: CustomResourceSubresourceScale): ScaleAccess<KubeObject> {
  const spec = stepsOf(scale.specReplicasPath);
  const status = stepsOf(scale.statusReplicasPath);
  const selector = scale.labelSelectorPath === undefined ? undefined : stepsOf(scale.labelSelectorPath);
  return {
    replicas: (object) => numberOf(valueAt(object, spec)),
    statusReplicas: (object) => numberOf(valueAt(object, status)),
    selector: (object) => {
      const value = selector === undefined ? undefined : valueAt(object, selector);
      return typeof value === 'string' ? value : '';
    },
    setReplicas: (object, replicas) => setValueAt(object, spec, replicas),
    missing: (object) =>
      valueAt(object, spec) === undefined
        ? `the spec replicas field ${JSON.stringify(scale.specReplicasPath)} does not exist`
        : undefined,
  };
}

const numberOf = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);

/** Returns the errors in the numbers that a scale is read from. */
export function scaleErrors(
  object: Readonly<KubeObject>,
  scale: CustomResourceSubresourceScale,
  parts: readonly ('spec' | 'status')[],
): readonly FieldError[] {
  const out: FieldError[] = [];
  if (parts.includes('spec')) checkNumber(out, object, scale.specReplicasPath);
  if (!parts.includes('status')) return out;
  checkNumber(out, object, scale.statusReplicasPath);
  const path = scale.labelSelectorPath ?? '';
  const value = path === '' ? undefined : valueAt(object, stepsOf(path));
  if (value !== undefined && typeof value !== 'string') out.push(invalid(path, '', otherType(path, value, 'string')));
  return out;
}

function checkNumber(out: FieldError[], object: Readonly<KubeObject>, path: string): void {
  const value = valueAt(object, stepsOf(path));
  if (value === undefined) return;
  if (!isWhole(value)) out.push(invalid(path, 0, otherType(path, value, 'int64')));
  else if (value < 0) out.push(invalid(path, value, 'should be a non-negative integer'));
  else if (value > INT32_MAX) out.push(invalid(path, value, `should be less than or equal to ${INT32_MAX}`));
}

function otherType(path: string, value: Json, wanted: string): string {
  const type = isNumeric(value) ? 'float64' : jsonTypeName(value);
  return `${path} accessor error: ${JSON.stringify(value)} is of the type ${type}, expected ${wanted}`;
}
