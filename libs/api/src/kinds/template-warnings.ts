import type { PodTemplateSpec } from '../generated/types.ts';
import type { KubeObject } from '../resource.ts';
import { podNameWarnings } from '../validation/name-warnings.ts';
import { podTemplateWarnings } from '../validation/pod/warnings.ts';

export interface TemplateOwner<T extends KubeObject> {
  readonly template: (object: Readonly<T>) => Readonly<PodTemplateSpec> | undefined;
  /** Default: `spec.template`. */
  readonly path?: string;
  /** Pods are named after the object. */
  readonly namesPods?: true;
  /** What else there is to say, before the template. */
  readonly more?: (object: Readonly<T>) => readonly string[];
  /** The same, behind it; said at every update. */
  readonly last?: (object: Readonly<T>) => readonly string[];
}

/** Of a kind that makes pods: said when an object is made, and again when something but its status changes. */
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
