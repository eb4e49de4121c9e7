import type { KubeObject } from '@holdfast/api';

/** A copy that has the finalizer; undefined when it has it already. */
export function withFinalizer<T extends KubeObject>(object: T, finalizer: string): T | undefined {
  const { finalizers = [] } = object.metadata;
  if (finalizers.includes(finalizer)) return undefined;
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
}

/** A copy without the finalizer; undefined when it does not have it. */
export function withoutFinalizer<T extends KubeObject>(object: T, finalizer: string): T | undefined {
  const { finalizers = [], ...rest } = object.metadata;
  if (!finalizers.includes(finalizer)) return undefined;
  const left = finalizers.filter((each) => each !== finalizer);
  return { ...object, metadata: left.length === 0 ? rest : { ...rest, finalizers: left } };
}
