import type { CustomKind, ResourceDefinition } from '@holdfast/api';
import { objectKey, type StoreKey } from '@holdfast/store';
import { storedNameOf } from './stored-object.ts';

export const groupVersion = (of: { group: string; version: string }): string =>
  of.group === '' ? of.version : `${of.group}/${of.version}`;

export const keyOf = (definition: ResourceDefinition, namespace: string, name: string): StoreKey =>
  objectKey({
    group: storedNameOf(definition).group,
    resource: storedNameOf(definition).plural,
    namespace: definition.namespaced ? namespace : '',
    name,
  });

/** The kind of a list. */
export const listKindOf = (definition: ResourceDefinition): string => listKindName(definition);

/** The same of a kind as discovery describes it. */
export const listKindName = ({
  kind,
  custom,
}: Pick<ResourceDefinition, 'kind'> & { readonly custom?: CustomKind }): string => custom?.listKind ?? `${kind}List`;

/** The name in messages: `deployments.apps "web"`. */
export const subjectOf = (
  definition: ResourceDefinition,
  name: string,
): { group: string; resource: string; name: string } => ({
  group: definition.group,
  resource: definition.plural,
  name,
});

/** Resources that Kubernetes keeps under another name than it serves. */
const STORED_PLACES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    nodes: 'minions',
    services: 'services/specs',
    endpoints: 'services/endpoints',
    'ingresses.networking.k8s.io': 'ingress',
    'apiservices.apiregistration.k8s.io': 'apiregistration.k8s.io/apiservices',
    'customresourcedefinitions.apiextensions.k8s.io': 'apiextensions.k8s.io/customresourcedefinitions',
  }),
);

/** Kubernetes' storage path of an object, which some messages contain. */
export function storagePath(
  { group, plural, custom }: ResourceDefinition,
  { name = '', namespace = '' }: { readonly name?: string; readonly namespace?: string },
): string {
  const resource = group === '' ? plural : `${plural}.${group}`;
  const place = custom === undefined ? (STORED_PLACES.get(resource) ?? plural) : `${group}/${plural}`;
  return ['/registry', place, ...(namespace === '' ? [] : [namespace]), name].join('/');
}
