import { isJsonObject, type Json, type MutableJsonObject, ownValue, setOwn } from '@holdfast/machinery';
import type { KubeObject, ResourceDefinition } from '../resource.ts';

/** `.spec.replicas` -> `spec`, `replicas`. These places allow only plain fields. */
export const stepsOf = (path: string): readonly string[] => path.replace(/^\./, '').split('.');

export function valueAt(object: Readonly<KubeObject>, steps: readonly string[]): Json | undefined {
  let value: Json | undefined = object as unknown as Json;
  for (const step of steps) value = isJsonObject(value) ? ownValue(value, step) : undefined;
  return value;
}

/** Creates missing objects above the field. */
export function setValueAt(object: KubeObject, steps: readonly string[], value: Json): void {
  let parent = object as unknown as MutableJsonObject;
  for (const step of steps.slice(0, -1)) {
    const child = ownValue(parent, step);
    const next: MutableJsonObject = isJsonObject(child) ? child : {};
    if (next !== child) setOwn(parent, step, next);
    parent = next;
  }
  setOwn(parent, steps.at(-1) ?? '', value);
}

/** Field selectors: an absent value is ''. */
export function selectableFields(paths: readonly string[]): ResourceDefinition['selectableFields'] {
  return Object.fromEntries(
    paths.map((path) => {
      const steps = stepsOf(path);
      return [steps.join('.'), (object: Readonly<KubeObject>) => textOf(valueAt(object, steps))];
    }),
  );
}

const textOf = (value: Json | undefined): string =>
  value === undefined || value === null || typeof value === 'object' ? '' : String(value);
