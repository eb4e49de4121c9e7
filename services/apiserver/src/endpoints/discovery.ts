import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { jsonAnswer } from '../http/answers.ts';
import { groupVersion } from '../served.ts';
import { type HealthCheck, healthPaths } from './health.ts';
import { type ServedKind, servedKinds } from './served-kinds.ts';

const AGGREGATED =
  /application\/json;(?=[^,]*g=apidiscovery\.k8s\.io)(?=[^,]*v=(v2beta1|v2)(?:[;, ]|$))(?=[^,]*as=APIGroupDiscoveryList)/;

/** What this API serves, in both forms that clients ask for. `undefined` for a path that is no discovery document. */
export function discoveryAnswer(request: ApiRequest, checks: readonly HealthCheck[]): ApiResponse | undefined {
  const path = request.path.replace(/\/$/, '');
  const version = AGGREGATED.exec((request.headers['accept'] ?? '').replaceAll(' ', ''))?.[1];
  if (path === '') return jsonAnswer(200, { paths: allPaths(checks) });
  if (path === '/api')
    return version === undefined ? jsonAnswer(200, coreVersions(request)) : aggregated(version, ['']);
  if (path === '/apis') {
    return version === undefined ? jsonAnswer(200, groupList()) : aggregated(version, namedGroups());
  }
  const [, root = '', first = '', second = ''] = path.split('/');
  if (root === 'api' && second === '') return resourceList('', first);
  if (root !== 'apis' || first === '') return undefined;
  return second === '' ? groupAnswer(first) : resourceList(first, second);
}

function allPaths(checks: readonly HealthCheck[]): readonly string[] {
  const groups = namedGroups().flatMap((group) => [
    `/apis/${group}`,
    ...versionsOf(group).map((version) => `/apis/${group}/${version}`),
  ]);
  const own = ['/.well-known/openid-configuration', '/api', '/api/v1', '/apis', '/apis/'];
  return [
    ...own,
    ...groups,
    ...healthPaths(checks),
    '/metrics',
    '/openapi/v2',
    '/openapi/v3',
    '/openapi/v3/',
    '/openid/v1/jwks',
    '/version',
  ].toSorted((a, b) => (a < b ? -1 : 1));
}

function coreVersions({ headers }: ApiRequest): unknown {
  const serverAddress = headers['host'] ?? '';
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

function namedGroups(): readonly string[] {
  return [...new Set(servedKinds().map((each) => each.group))].filter((group) => group !== '');
}

const versionsOf = (group: string): readonly string[] => [
  ...new Set(servedKinds().flatMap((each) => (each.group === group ? [each.version] : []))),
];

const groupList = (): unknown => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: namedGroups().map(groupDocument) });

function groupDocument(group: string): object {
  const versions = versionsOf(group).map((version) => ({ groupVersion: groupVersion({ group, version }), version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function groupAnswer(group: string): ApiResponse | undefined {
  if (!namedGroups().includes(group)) return undefined;
  return jsonAnswer(200, { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(group) });
}

const kindsOf = (group: string, version: string): readonly ServedKind[] =>
  servedKinds().filter((each) => each.group === group && each.version === version);

function resourceList(group: string, version: string): ApiResponse | undefined {
  const kinds = kindsOf(group, version);
  if (kinds.length === 0) return undefined;
  return jsonAnswer(200, {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersion({ group, version }),
    resources: kinds.flatMap(legacyEntries),
  });
}

function legacyEntries(served: ServedKind): readonly object[] {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories, storageVersionHash } = served;
  const own = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...names(shortNames, categories),
    ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
  };
  const below = served.subresources.map((sub) => ({
    name: `${plural}/${sub.name}`,
    singularName: '',
    namespaced,
    ...(sub.body === undefined || sub.body.group === served.group
      ? {}
      : { group: sub.body.group, version: sub.body.version }),
    kind: sub.body?.kind ?? kind,
    verbs: sub.verbs,
  }));
  return [own, ...below];
}

const names = (shortNames: readonly string[], categories: readonly string[]): object => ({
  ...(shortNames.length === 0 ? {} : { shortNames }),
  ...(categories.length === 0 ? {} : { categories }),
});

function aggregated(apiVersion: string, groups: readonly string[]): ApiResponse {
  const items = groups.map((group) => ({
    metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
    versions: versionsOf(group).map((version) => ({
      version,
      resources: kindsOf(group, version).map(aggregatedEntry),
      freshness: 'Current',
    })),
  }));
  const document = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${apiVersion}`,
    metadata: {},
    items,
  };
  return jsonAnswer(200, document, `application/json;g=apidiscovery.k8s.io;v=${apiVersion};as=APIGroupDiscoveryList`);
}

function aggregatedEntry(served: ServedKind): object {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = served;
  const subresources = served.subresources.map((sub) => ({
    subresource: sub.name,
    responseKind: responseKind(served, sub.body),
    verbs: sub.verbs,
  }));
  return {
    resource: plural,
    responseKind: { group: '', version: '', kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...names(shortNames, categories),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** A kind of the resource's own group is named without it. */
function responseKind(served: ServedKind, body: ServedKind['subresources'][number]['body']): object {
  if (body === undefined || body.group === served.group)
    return { group: '', version: '', kind: body?.kind ?? served.kind };
  return { group: body.group, version: body.version, kind: body.kind };
}
