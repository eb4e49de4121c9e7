import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import { badRequest } from '@holdfast/machinery';

/** The body may leave the namespace out; it may not name another one. What belongs to no namespace forgets the one it names. */
export function placeInNamespace(object: KubeObject, namespace: string, definition: ResourceDefinition): void {
  const own = object.metadata.namespace ?? '';
  if (!definition.namespaced) {
    if (object.metadata.namespace !== undefined) delete object.metadata.namespace;
    return;
  }
  if (own === namespace) return;
  refuseOtherNamespace(own, namespace);
  object.metadata.namespace = namespace;
}

export function refuseOtherNamespace(own: string | undefined, namespace: string): void {
  if (own === undefined || own === '' || own === namespace) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}
