import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { jsonAnswer } from '../http/answers.ts';
import { indentedAnswer } from '../http/indentation.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { aggregatedAnswer } from './aggregated-discovery.ts';
import type { Directory } from './directory.ts';
import { type HealthCheck, healthPaths } from './health.ts';
import { namesOf, type ServedKind } from './served-kinds.ts';

/** Returns a discovery document in either format; `undefined` for any other path. */
export function discoveryAnswer(
  request: ApiRequest,
  checks: readonly HealthCheck[],
  directory: Directory,
): ApiResponse | undefined {
  const path = request.path.replace(/\/$/, '');
  if (path === '') return indentedAnswer(200, { paths: allPaths(checks, directory) });
  if (path === '/api') return aggregatedAnswer(request, [''], directory) ?? jsonAnswer(200, coreVersions(request));
  if (path === '/apis')
    return aggregatedAnswer(request, namedGroups(directory), directory) ?? jsonAnswer(200, groupList(directory));
  const [, root = '', first = '', second = ''] = path.split('/');
  if (root === 'api' && second === '') return resourceList(directory, '', first);
  if (root !== 'apis' || first === '') return undefined;
  return second === '' ? groupAnswer(directory, first) : resourceList(directory, first, second);
}

function allPaths(checks: readonly HealthCheck[], directory: Directory): readonly string[] {
  const groups = namedGroups(directory).flatMap((group) => [
    `/apis/${group}`,
    ...directory.versionsOf(group).map((version) => `/apis/${group}/${version}`),
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

const namedGroups = (directory: Directory): readonly string[] => directory.groups().filter((group) => group !== '');

const groupList = (directory: Directory): unknown => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: namedGroups(directory).map((group) => groupDocument(directory, group)),
});

function groupDocument(directory: Directory, group: string): object {
  const versions = directory
    .versionsOf(group)
    .map((version) => ({ groupVersion: groupVersion({ group, version }), version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function groupAnswer(directory: Directory, group: string): ApiResponse | undefined {
  if (!directory.hasGroup(group)) return undefined;
  return jsonAnswer(200, { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(directory, group) });
}

function resourceList(directory: Directory, group: string, version: string): ApiResponse | undefined {
  const kinds = directory.kindsOf(group, version);
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
