import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { jsonAnswer } from '../http/answers.ts';
import { indentedAnswer } from '../http/indentation.ts';
import { groupVersion } from '../served.ts';
import { aggregatedAnswer } from './aggregated-discovery.ts';
import { type HealthCheck, healthPaths } from './health.ts';
import { kindsOf, namesOf, type ServedKind, servedKinds, versionsOf } from './served-kinds.ts';

/** What this API serves, in both forms that clients ask for. `undefined` for a path that is no discovery document. */
export function discoveryAnswer(request: ApiRequest, checks: readonly HealthCheck[]): ApiResponse | undefined {
  const path = request.path.replace(/\/$/, '');
  if (path === '') return indentedAnswer(200, { paths: allPaths(checks) });
  if (path === '/api') return aggregatedAnswer(request, ['']) ?? jsonAnswer(200, coreVersions(request));
  if (path === '/apis') return aggregatedAnswer(request, namedGroups()) ?? jsonAnswer(200, groupList());
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
    '/metrics/slis',
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

const groupList = (): unknown => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: namedGroups().map(groupDocument) });

function groupDocument(group: string): object {
  const versions = versionsOf(group).map((version) => ({ groupVersion: groupVersion({ group, version }), version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function groupAnswer(group: string): ApiResponse | undefined {
  if (!namedGroups().includes(group)) return undefined;
  return jsonAnswer(200, { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(group) });
}

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
  const { plural, singular, namespaced, kind, verbs, storageVersionHash } = served;
  const own = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...namesOf(served),
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
