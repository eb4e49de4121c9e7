import type { ResourceDefinition } from '@holdfast/api';
import { objectKey, type StoreKey } from '@holdfast/store';
import { storedNameOf } from './stored-form.ts';

export const groupVersion = (of: { group: string; version: string }): string =>
  of.group === '' ? of.version : `${of.group}/${of.version}`;

export const keyOf = (definition: ResourceDefinition, namespace: string, name: string): StoreKey =>
  objectKey({
    group: storedNameOf(definition).group,
    resource: storedNameOf(definition).plural,
    namespace: definition.namespaced ? namespace : '',
    name,
  });

/** What messages name: `deployments.apps "web"`. */
export const subjectOf = (
  definition: ResourceDefinition,
  name: string,
): { group: string; resource: string; name: string } => ({
  group: definition.group,
  resource: definition.plural,
  name,
});
