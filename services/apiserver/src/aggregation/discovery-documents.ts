import { isJsonArray, isJsonObject, type Json, type JsonObject } from '@holdfast/machinery';
import { AGGREGATED_RESOURCES_MAX } from '../limits.ts';

/** One resource in discovery, as in `apidiscovery.k8s.io/v2`. */
export interface RemoteResource {
  readonly resource: string;
  readonly responseKind: ResponseKind;
  readonly scope: string;
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly RemoteSubresource[];
}

export interface RemoteSubresource {
  readonly subresource: string;
  readonly responseKind: ResponseKind;
  readonly verbs: readonly string[];
}

interface ResponseKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Takes only the fields that it reads from a foreign document. Throws when the document is invalid. */
export function resourcesOfGroups(text: string, { group, version }: GroupVersion): readonly RemoteResource[] {
  const document = objectOf(JSON.parse(text));
  if (document['kind'] !== 'APIGroupDiscoveryList') throw new Error('the answer is not an APIGroupDiscoveryList');
  const groups = objectsOf(document['items']).filter(
    (each) => textOf(objectOf(each['metadata'] ?? {})['name']) === group,
  );
  const found = groups.flatMap((each) => objectsOf(each['versions'])).find((each) => each['version'] === version);
  if (found === undefined) throw new Error('the answer does not list the version');
  return objectsOf(found['resources']).map(resourceOf);
}

/** The same from the list that a server without such documents has for each version. */
export function resourcesOfList(text: string): readonly RemoteResource[] {
  const document = objectOf(JSON.parse(text));
  if (document['kind'] !== 'APIResourceList') throw new Error('the answer is not an APIResourceList');
  const entries = objectsOf(document['resources']);
  return entries
    .filter((each) => !textOf(each['name']).includes('/'))
    .map((each) => ({
      resource: textOf(each['name']),
      responseKind: kindOf(each),
      scope: each['namespaced'] === true ? 'Namespaced' : 'Cluster',
      singularResource: textOf(each['singularName']),
      verbs: textsOf(each['verbs']),
      ...some('shortNames', textsOf(each['shortNames'])),
      ...some('categories', textsOf(each['categories'])),
      ...some('subresources', subresourcesOf(textOf(each['name']), entries)),
    }));
}

function subresourcesOf(resource: string, entries: readonly JsonObject[]): readonly RemoteSubresource[] {
  const prefix = `${resource}/`;
  return entries
    .filter((each) => textOf(each['name']).startsWith(prefix))
    .map((each) => ({
      subresource: textOf(each['name']).slice(prefix.length),
      responseKind: kindOf(each),
      verbs: textsOf(each['verbs']),
    }));
}

const resourceOf = (entry: JsonObject): RemoteResource => ({
  resource: textOf(entry['resource']),
  responseKind: kindOf(objectOf(entry['responseKind'] ?? {})),
  scope: entry['scope'] === 'Namespaced' ? 'Namespaced' : 'Cluster',
  singularResource: textOf(entry['singularResource']),
  verbs: textsOf(entry['verbs']),
  ...some('shortNames', textsOf(entry['shortNames'])),
  ...some('categories', textsOf(entry['categories'])),
  ...some(
    'subresources',
    objectsOf(entry['subresources']).map((each) => ({
      subresource: textOf(each['subresource']),
      responseKind: kindOf(objectOf(each['responseKind'] ?? {})),
      verbs: textsOf(each['verbs']),
    })),
  ),
});

const kindOf = (entry: JsonObject): ResponseKind => ({
  group: textOf(entry['group']),
  version: textOf(entry['version']),
  kind: textOf(entry['kind']),
});

const some = (key: string, values: readonly unknown[]): object => (values.length === 0 ? {} : { [key]: values });

function objectOf(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw new Error('the answer has a value that is not an object');
}

function objectsOf(value: Json | undefined): readonly JsonObject[] {
  if (value === undefined || value === null) return [];
  if (!isJsonArray(value) || value.length > AGGREGATED_RESOURCES_MAX) {
    throw new Error(`the answer has a list that is not an array or has more than ${AGGREGATED_RESOURCES_MAX} entries`);
  }
  return value.map(objectOf);
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const textsOf = (value: Json | undefined): readonly string[] =>
  isJsonArray(value) ? value.slice(0, AGGREGATED_RESOURCES_MAX).filter((each) => typeof each === 'string') : [];
