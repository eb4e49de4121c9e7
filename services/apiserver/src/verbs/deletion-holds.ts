import type { KubeObject, Namespace, ResourceDefinition } from '@holdfast/api';

/** Finalizers that keep a terminating object; a namespace also has some in its spec, for its contents. */
export function isHeld(definition: ResourceDefinition, object: KubeObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0) return true;
  return isNamespace(definition) && (asNamespace(object).spec?.finalizers ?? []).length > 0;
}

/** Changes beside metadata at the start of a deletion. */
export function markTerminating(definition: ResourceDefinition, object: KubeObject): void {
  if (!isNamespace(definition)) return;
  const namespace = asNamespace(object);
  namespace.status = { ...namespace.status, phase: 'Terminating' };
}

const isNamespace = (definition: ResourceDefinition): boolean =>
  definition.group === '' && definition.plural === 'namespaces';

const asNamespace = (object: KubeObject): Namespace => object as Namespace;
