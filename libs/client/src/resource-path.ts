import type { KubeObject, ResourceRef } from '@holdfast/api';
import { invariant } from '@holdfast/platform';
import type { Target } from './port.ts';

/** `/apis/apps/v1/namespaces/default/deployments`. Without a namespace the collection spans all namespaces. */
export function collectionPath<T extends KubeObject>(resource: ResourceRef<T>, namespace: string | undefined): string {
  const scope = resource.namespaced && namespace !== undefined ? `/namespaces/${namespace}` : '';
  return `${versionPath(resource)}${scope}/${resource.plural}`;
}

export const versionPath = ({ group, version }: Pick<ResourceRef, 'group' | 'version'>): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

export function objectPath<T extends KubeObject>(
  resource: ResourceRef<T>,
  target: Target,
  subresource?: string,
): string {
  invariant(target.name !== '', 'an object has a name', { resource: resource.plural });
  invariant(
    !resource.namespaced || (target.namespace !== undefined && target.namespace !== ''),
    'an object of a namespaced kind has a namespace',
    { resource: resource.plural, name: target.name },
  );
  const path = `${collectionPath(resource, target.namespace)}/${target.name}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}
