import { strict as assert } from 'node:assert';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { HttpMethod } from '@holdfast/client';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';

/** Kubernetes 1.32's exact refusals. */
const CORE = '/api/v1/namespaces/default';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

const signingKey = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

let api: TestApi;
let uidOfA = '';
before(async () => {
  api = await startTestApi();
  for (const name of ['b', 'a']) {
    uidOfA = (await api.call('POST', '/api/v1/nodes', { body: { metadata: { name } } })).textAt('metadata.uid');
  }
  for (const node of ['b', 'a']) {
    await api.call('POST', `${CORE}/pods`, { body: podBody(`on-${node}`, { spec: { nodeName: node } }) });
  }
});
after(() => api.stop());

interface Asked {
  readonly method?: HttpMethod;
  readonly url: string;
  readonly body?: unknown;
  readonly as?: string;
  readonly why: string;
}

async function refused(asked: readonly Asked[]): Promise<void> {
  for (const { method = 'GET', url, body, as = 'node-a', why } of asked) {
    const got = await api.call(method, url, { as, ...(body === undefined ? {} : { body }) });
    const message = got.textAt('message');
    assert.deepEqual([got.status, message.slice(-why.length - 2)], [403, `: ${why}`], `${method} ${url}: ${message}`);
  }
}

test('a kubelet gets the reason why it may not read foreign objects', () => {
  const unrelated = "no relationship found between node 'a' and this object";
  const inGroup = 'in API group "" in the namespace "default"';
  const inCluster = 'in API group "" at the cluster scope';
  const leases = 'can only access leases in the "kube-node-lease" system namespace';
  return refused([
    { url: `${CORE}/secrets/s`, why: unrelated },
    { url: `${CORE}/secrets`, why: 'No Object name found' },
    { url: `${CORE}/configmaps/c`, why: unrelated },
    { method: 'DELETE', url: `${CORE}/secrets/s`, why: 'can only read resources of this type' },
    { url: '/api/v1/secrets', why: 'can only read namespaced object of this type' },
    { url: `${CORE}/persistentvolumeclaims/c`, why: unrelated },
    { url: `${CORE}/persistentvolumeclaims`, why: 'can only get individual resources of this type' },
    { url: `${CORE}/pods`, why: 'can only list/watch pods with spec.nodeName field selector' },
    { url: `${CORE}/pods/on-b`, why: unrelated },
    { url: `${CORE}/pods/on-b/status`, why: `User "system:node:a" cannot get resource "pods/status" ${inGroup}` },
    { url: `${CORE}/pods/on-a/log`, why: `User "system:node:a" cannot get resource "pods/log" ${inGroup}` },
    { url: `${CORE}/pods/on-a/exec`, why: `User "system:node:a" cannot get resource "pods/exec" ${inGroup}` },
    { url: '/api/v1/nodes/a/proxy/pods', why: `User "system:node:a" cannot get resource "nodes/proxy" ${inCluster}` },
    { url: '/api/v1/nodes', why: "node 'a' cannot read all nodes, only its own Node object" },
    { url: '/api/v1/nodes/b', why: "node 'a' cannot read 'b', only its own Node object" },
    { url: `${CORE}/serviceaccounts/default`, why: 'can only create tokens for individual service accounts' },
    { url: `${LEASES}/default/leases/a`, why: leases },
    { method: 'POST', url: `${LEASES}/default/leases`, body: { metadata: { name: 'a' } }, why: leases },
    { url: `${LEASES}/kube-node-lease/leases`, why: 'can only get, create, update, patch, or delete a node lease' },
    {
      url: `${LEASES}/kube-node-lease/leases/b`,
      why: 'can only access node lease with the same name as the requesting node',
    },
    {
      url: '/apis/storage.k8s.io/v1/csinodes/b',
      why: 'can only access CSINode with the same name as the requesting node',
    },
  ]);
});

test('a kubelet gets the reason why it may not write foreign objects', () => {
  const mirror = (metadata: object, spec: object = {}): unknown =>
    podBody('mirror', {
      metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' }, ...metadata },
      spec: { nodeName: 'a', ...spec },
    });
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'a', uid: uidOfA, controller: true };
  const make = (body: unknown, why: string): Asked => ({ method: 'POST', url: `${CORE}/pods`, body, why });
  const owned = { ownerReferences: [owner] };
  const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });
  const itself = 'owner reference set to itself';
  return refused([
    make(mirror({}), `node "a" can only create pods with an ${itself}`),
    make(
      mirror({ ownerReferences: [owner, { ...owner, controller: false }] }),
      `node "a" can only create pods with a single ${itself}`,
    ),
    make(
      mirror({ ownerReferences: [{ ...owner, controller: false }] }),
      `node "a" can only create pods with a controller ${itself}`,
    ),
    make(
      mirror({ ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
      'node "a" must not set blockOwnerDeletion on an owner reference',
    ),
    make(mirror({ ownerReferences: [{ ...owner, uid: 'u' }] }), `node a UID mismatch: expected u got ${uidOfA}`),
    make(mirror(owned, volume({ secret: { secretName: 's' } })), 'node "a" can not create pods that reference secrets'),
    ...[
      { csi: { driver: 'd', nodePublishSecretRef: { name: 's' } } },
      { flexVolume: { driver: 'd/d', secretRef: { name: 's' } } },
      { azureFile: { shareName: 'x', secretName: 's' } },
      { iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:x', lun: 0, secretRef: { name: 's' } } },
    ].map((source) => make(mirror(owned, volume(source)), 'node "a" can not create pods that reference secrets')),
    make(
      mirror(owned, { containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name: 's' } }] }] }),
      'node "a" can not create pods that reference secrets',
    ),
    make(
      mirror(owned, volume({ projected: { sources: [{ configMap: { name: 'c' } }] } })),
      'node "a" can not create pods that reference configmaps',
    ),
    make(
      mirror(owned, volume({ persistentVolumeClaim: { claimName: 'c' } })),
      'node "a" can not create pods that reference persistentvolumeclaims',
    ),
    {
      method: 'DELETE',
      url: `${CORE}/pods/on-b`,
      why: 'node "a" can only delete pods with spec.nodeName set to itself',
    },
    {
      method: 'PATCH',
      url: `${CORE}/pods/on-b/status`,
      body: { metadata: { labels: { x: 'y' } } },
      why: 'node "a" can only update pod status for pods with spec.nodeName set to itself',
    },
    {
      method: 'PATCH',
      url: `${CORE}/pods/on-b/status`,
      as: 'node-b',
      body: { metadata: { labels: { x: 'y' } } },
      why: 'node "b" cannot update labels through pod status',
    },
    {
      method: 'PATCH',
      url: '/api/v1/nodes/a',
      body: { metadata: { labels: { 'node-restriction.kubernetes.io/x': 'y', 'kubernetes.io/z': 'y' } } },
      why: 'is not allowed to modify labels: kubernetes.io/z, node-restriction.kubernetes.io/x',
    },
    ...['', '/status'].map((subresource) => ({
      method: 'PATCH' as const,
      url: `/api/v1/nodes/a${subresource}`,
      body: { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'b', uid: 'gone' }] } },
      why: 'node "a" is not allowed to modify ownerReferences',
    })),
    {
      method: 'POST',
      url: '/apis/storage.k8s.io/v1/csinodes',
      body: { metadata: { name: 'b' }, spec: { drivers: [] } },
      why: 'can only access CSINode with the same name as the requesting node',
    },
    {
      method: 'POST',
      url: `${LEASES}/kube-node-lease/leases`,
      body: { metadata: { name: 'b' } },
      why: 'can only access node lease with the same name as the requesting node',
    },
  ]);
});

test('a role that names an object allows list and watch of that name', async () => {
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'], resourceNames: ['named'] }];
  await api.call('POST', `${RBAC}/namespaces/default/roles`, { body: { metadata: { name: 'of-one' }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'of-one' };
  const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
  const binding = { metadata: { name: 'of-one' }, roleRef, subjects };
  await api.call('POST', `${RBAC}/namespaces/default/rolebindings`, { body: binding });
  for (const name of ['named', 'other']) {
    await api.call('POST', `${CORE}/configmaps`, { body: { metadata: { name } } });
  }
  const as = 'nobody';
  const url = `${CORE}/configmaps?fieldSelector=metadata.name%3D`;
  assert.deepEqual((await api.call('GET', `${url}named`, { as })).names(), ['named']);
  const [event] = await api.watch(`${url}named&watch=1`, 1, { as });
  assert.equal(event?.type, 'ADDED');
  const cannot = (verb: string) =>
    `User "nobody" cannot ${verb} resource "configmaps" in API group "" in the namespace "default"`;
  await refused([
    { url: `${CORE}/configmaps`, as, why: cannot('list') },
    { url: `${url}other`, as, why: cannot('list') },
    { url: `${url}other&watch=1`, as, why: cannot('watch') },
    { url: `${CORE}/configmaps?fieldSelector=metadata.name!%3Dnamed`, as, why: cannot('list') },
    { url: `${CORE}/configmaps/named?watch=1`, as, why: cannot('get') },
    { method: 'DELETE', url: `${url}named`, as, why: cannot('deletecollection') },
  ]);
  const other = await api.call('GET', `${url}other`, { as });
  assert.deepEqual(
    [other.at('details.name'), other.textAt('message').split(':')[0]],
    ['other', 'configmaps "other" is forbidden'],
  );
});

test('a refusal names a missing bound role; a role without rules is not missing', async () => {
  const bind = (name: string, kind: string, role: string): Promise<unknown> =>
    api.call('POST', kind === 'Role' ? `${RBAC}/namespaces/default/rolebindings` : `${RBAC}/clusterrolebindings`, {
      body: {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
        subjects: [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    });
  await api.call('POST', `${RBAC}/namespaces/default/roles`, { body: { metadata: { name: 'empty' }, rules: [] } });
  await bind('empty', 'Role', 'empty');
  const url = `${CORE}/pods`;
  await refused([
    { url, as: 'nobody', why: 'User "nobody" cannot list resource "pods" in API group "" in the namespace "default"' },
  ]);
  await bind('one', 'ClusterRole', 'gone');
  const why = 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found';
  await refused([
    { url, as: 'nobody', why },
    { url: '/metrics', as: 'nobody', why },
  ]);
  await bind('two', 'Role', 'lost');
  const both =
    'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]';
  await refused([{ url, as: 'nobody', why: both }]);
  const review = await api.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    body: { spec: { user: 'nobody', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } } },
  });
  assert.deepEqual([review.at('status.allowed'), review.at('status.reason')], [false, both]);
});

test('names in a refusal are safe to show in a browser', async () => {
  const headers = { 'impersonate-user': '<b>&' };
  const got = await api.call('GET', `${CORE}/pods`, { headers });
  assert.match(got.textAt('message'), /User "&lt;b&gt;&amp;" cannot list/);
});

test('token requests are refused with the message of their subject', async (t) => {
  const issuing = await startTestApi({ serviceAccounts: { signingKey } });
  t.after(() => issuing.stop());
  await issuing.call('POST', `${CORE}/serviceaccounts`, { body: { metadata: { name: 'bot' } } });
  await issuing.call('POST', `${CORE}/secrets`, { body: { metadata: { name: 's' } } });
  const order = async (body: object, as = 'admin'): Promise<unknown> => {
    const got = await issuing.call('POST', `${CORE}/serviceaccounts/bot/token`, { as, body });
    return [got.status, got.at('message')];
  };
  const invalid = 'TokenRequest.authentication.k8s.io "bot" is invalid: metadata';
  const ref = (kind: string, apiVersion: string, name: string, uid?: string): object => ({
    spec: { boundObjectRef: { kind, apiVersion, name, ...(uid === undefined ? {} : { uid }) } },
  });
  const about = 'serviceaccounts "bot" is forbidden: node requested token';
  const cases: readonly (readonly [body: object, as: string, status: number, message: string])[] = [
    [
      { metadata: { name: 'x' } },
      'admin',
      422,
      `${invalid}.name: Invalid value: "x": must match the service account name if specified`,
    ],
    [
      { metadata: { namespace: 'x' } },
      'admin',
      422,
      `${invalid}.namespace: Invalid value: "x": must match the service account namespace if specified`,
    ],
    [ref('Pod', 'x/v1', 'p'), 'admin', 400, 'cannot bind token to object of type x/v1, Kind=Pod'],
    [
      ref('Secret', 'v1', 's', 'u'),
      'admin',
      409,
      'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (u) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    [{ spec: {} }, 'node-a', 403, `${about} not bound to a pod`],
    [ref('Pod', 'v1', 'p'), 'node-a', 403, `${about} with a pod binding without a uid`],
  ];
  for (const [body, as, ...answer] of cases) assert.deepEqual(await order(body, as), answer);
});

test('evictions and token requests are refused in a terminating or missing namespace', async (t) => {
  const issuing = await startTestApi({ serviceAccounts: { signingKey } });
  t.after(() => issuing.stop());
  await issuing.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'ending' } } });
  const kept = podBody('p', { metadata: { finalizers: ['example.com/kept'] } });
  await issuing.call('POST', '/api/v1/namespaces/ending/pods', { body: kept });
  await issuing.call('POST', '/api/v1/namespaces/ending/serviceaccounts', { body: { metadata: { name: 'bot' } } });
  await issuing.call('DELETE', '/api/v1/namespaces/ending');
  await issuing.call('GET', '/api/v1/namespaces/ending');
  const evict = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
  const why = 'is forbidden: unable to create new content in namespace ending because it is being terminated';
  for (const [url, body, status, message] of [
    ['ending/pods/p/eviction', evict, 403, `pods "p" ${why}`],
    ['ending/serviceaccounts/bot/token', {}, 403, `serviceaccounts "bot" ${why}`],
    ['none/pods/p/eviction', evict, 404, 'namespaces "none" not found'],
    ['none/serviceaccounts/bot/token', {}, 404, 'namespaces "none" not found'],
  ] as const) {
    const got = await issuing.call('POST', `/api/v1/namespaces/${url}`, { body });
    assert.deepEqual([got.status, got.at('message')], [status, message]);
    assert.equal(got.at('details.causes.0.reason'), status === 403 ? 'NamespaceTerminating' : undefined);
  }
});

test('static pods refer to no objects, and accounts may limit the references of their pods', async (t) => {
  const mounting = await startTestApi({ serviceAccounts: { signingKey } });
  t.after(() => mounting.stop());
  await mounting.call('POST', `${CORE}/serviceaccounts`, {
    body: {
      metadata: { name: 'strict', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
      secrets: [{ name: 'own' }],
    },
  });
  const mirror = { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } };
  const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });
  const strict = (spec: object): Readonly<Record<string, unknown>> => ({
    spec: { serviceAccountName: 'strict', ...spec },
  });
  const variable = { name: 'V', valueFrom: { secretKeyRef: { name: 'other', key: 'k' } } };
  const end = 'is not allowed because service account strict does not reference that';
  const cases: readonly (readonly [extra: Readonly<Record<string, unknown>>, why: string])[] = [
    [{ ...mirror, spec: { serviceAccountName: 'a' } }, 'a mirror pod may not reference service accounts'],
    [{ ...mirror, spec: volume({ secret: { secretName: 's' } }) }, 'a mirror pod may not reference secrets'],
    [{ ...mirror, spec: volume({ configMap: { name: 'c' } }) }, 'a mirror pod may not reference configmaps'],
    [
      { ...mirror, spec: volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }) },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
    [strict(volume({ secret: { secretName: 'other' } })), `volume with secret.secretName="other" ${end} secret`],
    [
      strict({ containers: [{ name: 'c', image: 'i', env: [variable] }] }),
      `container c with envVar V referencing secret.secretName="other" ${end} secret`,
    ],
    [
      strict({ containers: [{ name: 'c', image: 'i', envFrom: [{ secretRef: { name: 'other' } }] }] }),
      `container c with envFrom referencing secret.secretName="other" ${end} secret`,
    ],
    [strict({ imagePullSecrets: [{ name: 'p' }] }), `imagePullSecrets[0].name="p" ${end} imagePullSecret`],
  ];
  for (const [extra, why] of cases) {
    const got = await mounting.call('POST', `${CORE}/pods`, { body: podBody('p', extra) });
    assert.deepEqual([got.status, got.at('message')], [403, `pods "p" is forbidden: ${why}`]);
  }
  const allowed = await mounting.call('POST', `${CORE}/pods`, {
    body: podBody('p', strict(volume({ secret: { secretName: 'own' } }))),
  });
  assert.equal(allowed.status, 201);
  const debug = (name: string): Promise<unknown> => {
    const container = { name: 'd', image: 'i', envFrom: [{ secretRef: { name } }] };
    const url = `${CORE}/pods/p/ephemeralcontainers`;
    const answer = mounting.call('PATCH', url, { body: { spec: { ephemeralContainers: [container] } } });
    return answer.then((got) => [got.status, got.at('message')]);
  };
  const why = `ephemeral container d with envFrom referencing secret.secretName="other" ${end} secret`;
  assert.deepEqual(await debug('other'), [403, `pods "p" is forbidden: ${why}`]);
  assert.deepEqual(await debug('own'), [200, undefined]);
});

test('all errors of bindings and log requests are reported', async () => {
  const cases: readonly (readonly [HttpMethod, string, unknown, number, string])[] = [
    [
      'POST',
      `${CORE}/pods/on-b/binding`,
      { metadata: { name: 'x' }, target: { kind: 'Foo' } },
      400,
      'name in URL does not match name in Binding object',
    ],
    [
      'POST',
      `${CORE}/pods/on-b/binding`,
      { target: { name: 'n' } },
      400,
      'name in URL does not match name in Binding object',
    ],
    [
      'POST',
      `${CORE}/pods/on-b/binding`,
      { metadata: { name: 'on-b' }, target: { kind: 'Foo' } },
      500,
      '[target.kind: Unsupported value: "Foo": supported values: "Node", "<empty>", target.name: Required value]',
    ],
    [
      'GET',
      `${CORE}/pods/none/log?tailLines=-1&limitBytes=0`,
      undefined,
      422,
      'PodLogOptions "none" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0]',
    ],
    ['GET', `${CORE}/pods/none/log?tailLines=x`, undefined, 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
  ];
  for (const [method, url, body, ...answer] of cases) {
    const got = await api.call(method, url, body === undefined ? {} : { body });
    assert.deepEqual([got.status, got.at('message')], answer, url);
  }
});
