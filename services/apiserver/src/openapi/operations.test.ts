import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servedKinds } from '../endpoints/served-kinds.ts';
import { type ApiPath, pathsOf } from './operations.ts';
import { signposts, versionSignpost } from './signposts.ts';

const paths = new Map<string, ApiPath>(
  [...signposts(), versionSignpost('apps', 'v1'), ...servedKinds().flatMap(pathsOf)].map((each) => [each.path, each]),
);
const names = (parameters: readonly { readonly name: string }[]): string =>
  parameters.map(({ name }) => name).join(' ');
const short = (type: string): string => type.slice(type.lastIndexOf('.') + 1);

const PODS = '/api/v1/namespaces/{namespace}/pods';
const CLAIMS = '/api/v1/namespaces/{namespace}/persistentvolumeclaims';
const SELECTION =
  'continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds';
const LISTING = `allowWatchBookmarks ${SELECTION} watch`;
const DELETING =
  'dryRun gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents propagationPolicy';
const sorted = (text: string): string => text.split(' ').sort().join(' ');

/** Method and path; name, tag, action; statuses, type of the answer; parameters. */
const operations: readonly (readonly [string, string, string, string, string])[] = [
  [`get ${PODS}`, 'listCoreV1NamespacedPod', 'core_v1 list', '200 PodList', LISTING],
  ['get /api/v1/pods', 'listCoreV1PodForAllNamespaces', 'core_v1 list', '200 PodList', ''],
  [
    `post ${PODS}`,
    'createCoreV1NamespacedPod',
    'core_v1 post',
    '200,201,202 Pod',
    'dryRun fieldManager fieldValidation',
  ],
  [
    `delete ${PODS}`,
    'deleteCoreV1CollectionNamespacedPod',
    'core_v1 deletecollection',
    '200 Status',
    sorted(`${DELETING} ${SELECTION}`),
  ],
  [`delete ${PODS}/{name}`, 'deleteCoreV1NamespacedPod', 'core_v1 delete', '200,202 Pod', DELETING],
  [
    `delete ${CLAIMS}/{name}`,
    'deleteCoreV1NamespacedPersistentVolumeClaim',
    'core_v1 delete',
    '200,202 PersistentVolumeClaim',
    DELETING,
  ],
  ['delete /api/v1/nodes/{name}', 'deleteCoreV1Node', 'core_v1 delete', '200,202 Status', DELETING],
  [
    `put ${PODS}/{name}/status`,
    'replaceCoreV1NamespacedPodStatus',
    'core_v1 put',
    '200,201 Pod',
    'dryRun fieldManager fieldValidation',
  ],
  [
    `patch ${PODS}/{name}`,
    'patchCoreV1NamespacedPod',
    'core_v1 patch',
    '200,201 Pod',
    'dryRun fieldManager fieldValidation force',
  ],
  [`get ${PODS}/{name}/log`, 'readCoreV1NamespacedPodLog', 'core_v1 get', '200 string', ''],
  [`post ${PODS}/{name}/eviction`, 'createCoreV1NamespacedPodEviction', 'core_v1 post', '200,201,202 Eviction', ''],
  [`post ${PODS}/{name}/exec`, 'connectCoreV1PostNamespacedPodExec', 'core_v1 connect', '200 string', ''],
  ['head /api/v1/nodes/{name}/proxy/{path}', 'connectCoreV1HeadNodeProxyWithPath', 'core_v1 connect', '200 string', ''],
  [`get /api/v1/watch/pods`, 'watchCoreV1PodListForAllNamespaces', 'core_v1 watchlist', '200 WatchEvent', ''],
  ['get /api/v1/watch/nodes/{name}', 'watchCoreV1Node', 'core_v1 watch', '200 WatchEvent', ''],
  [
    'get /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}',
    'readRbacAuthorizationV1ClusterRole',
    'rbacAuthorization_v1 get',
    '200 ClusterRole',
    '',
  ],
  [
    'put /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale',
    'replaceAppsV1NamespacedDeploymentScale',
    'apps_v1 put',
    '200,201 Scale',
    'dryRun fieldManager fieldValidation',
  ],
  ['get /apis/apps/v1/', 'getAppsV1APIResources', 'apps_v1 -', '200 APIResourceList', ''],
  ['get /apis/rbac.authorization.k8s.io/', 'getRbacAuthorizationAPIGroup', 'rbacAuthorization -', '200 APIGroup', ''],
  ['get /apis/', 'getAPIVersions', 'apis -', '200 APIGroupList', ''],
  ['get /version/', 'getCodeVersion', 'version -', '200 Info', ''],
];
for (const [at, id, tagAndAction, answer, parameters] of operations) {
  test(at, () => {
    const [method, path = ''] = at.split(' ');
    const operation = paths.get(path)?.operations.find((each) => each.method === method);
    assert.ok(operation);
    assert.equal(operation.id, id);
    assert.equal(`${operation.tag} ${operation.of?.action ?? '-'}`, tagAndAction);
    assert.equal(`${operation.statuses.join()} ${short(operation.answer)}`, answer);
    assert.equal(names(operation.parameters), parameters);
  });
}

test('parameters common to all operations of a path are declared at the path', () => {
  const common: readonly (readonly [string, string])[] = [
    [PODS, 'namespace pretty'],
    [`${PODS}/{name}`, 'name namespace pretty'],
    ['/api/v1/pods', sorted(`${LISTING} pretty`)],
    [`${PODS}/{name}/binding`, 'dryRun fieldManager fieldValidation name namespace pretty'],
    [`${PODS}/{name}/attach`, 'container name namespace stderr stdin stdout tty'],
    [`${PODS}/{name}/exec`, 'command container name namespace stderr stdin stdout tty'],
    [`${PODS}/{name}/portforward`, 'name namespace ports'],
    [`${PODS}/{name}/proxy/{path}`, 'name namespace path path'],
  ];
  for (const [path, parameters] of common) assert.equal(names(paths.get(path)?.parameters ?? []), parameters, path);
});

test('no two operations have the same id', () => {
  const ids = [...paths.values()].flatMap((each) => each.operations.map(({ id }) => id));
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.length > 500);
});
