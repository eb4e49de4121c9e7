import type { KubeObject, Namespace, ResourceDefinition } from '@holdfast/api';

/** What keeps an object that is being deleted: finalizers; a namespace also has some in its spec, for its contents. */
export function isHeld(definition: ResourceDefinition, object: KubeObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0) return true;
  return isNamespace(definition) && (asNamespace(object).spec?.finalizers ?? []).length > 0;
}

/** What changes besides metadata when an object begins to go away. */
export function markTerminating(definition: ResourceDefinition, object: KubeObject): void {
  if (!isNamespace(definition)) return;
  const namespace = asNamespace(object);
  namespace.status = { ...namespace.status, phase: 'Terminating' };
}

const isNamespace = (definition: ResourceDefinition): boolean =>
  definition.group === '' && definition.plural === 'namespaces';

const asNamespace = (object: KubeObject): Namespace => object as Namespace;
