import type { PodTemplateSpec } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { podNameWarnings } from '../validation/name-warnings.ts';
import { podTemplateWarnings } from '../validation/pod/warnings.ts';

export interface TemplateOwner<T extends KubeObject> {
  readonly template: (object: Readonly<T>) => Readonly<PodTemplateSpec> | undefined;
  /** Default: `spec.template`. */
  readonly path?: string;
  /** True when pods are named after the object. */
  readonly namesPods?: true;
  /** Additional warnings before those of the template. */
  readonly more?: (object: Readonly<T>) => readonly string[];
  /** Additional warnings after those of the template, on every update. */
  readonly last?: (object: Readonly<T>) => readonly string[];
}

/** Warnings of a kind that creates pods: on create, and when an update changes more than the status. */
export function templateWarnings<T extends KubeObject>(
  owner: TemplateOwner<T>,
): (object: Readonly<T>, old: Readonly<T> | undefined) => readonly string[] {
  return (object, old) => {
    const last = owner.last?.(object) ?? [];
    if (old !== undefined && object.metadata.generation === old.metadata.generation) return last;
    const template = owner.template(object);
    return [
      ...(old === undefined && owner.namesPods === true ? podNameWarnings(object.metadata.name) : []),
      ...(owner.more?.(object) ?? []),
      ...(template === undefined ? [] : podTemplateWarnings(template, owner.path)),
      ...last,
    ];
  };
}
