import { strict as assert } from 'node:assert';
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { KubeObject, PolicyRule } from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import { objectKey } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { encodeStored } from '../cache/stored-json.ts';
import { podBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { describeRules, EVERYTHING, ruleAllows } from './rbac-rules.ts';
import { uncovered } from './rule-coverage.ts';

const PODS = '/api/v1/namespaces/default/pods';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' };

const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
const signingKey = newKey();

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ store: createMemoryStore(), serviceAccounts: { signingKey } });
});
afterEach(() => api.stop());

/** Puts an object into the store as it is: these tests are about what roles mean, not about how they are written. */
async function seed(
  plural: string,
  object: Omit<KubeObject, 'apiVersion'> & Readonly<Record<string, unknown>>,
): Promise<void> {
  const { namespace = '', name = '' } = object.metadata;
  const key = objectKey({ group: RBAC.group, resource: plural, namespace, name });
  const value = encodeStored({ apiVersion: `${RBAC.group}/v1`, ...object });
  assert.equal((await api.store.write([{ kind: 'create', key, value }])).outcome, 'committed');
  await api.call('GET', PODS);
}

const podReader = { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }] };
const toNobody = { subjects: [{ kind: 'User', name: 'nobody', apiGroup: RBAC.group }] };
const roleRef = (kind: string, name: string) => ({ roleRef: { apiGroup: RBAC.group, kind, name } });

describe('RBAC', () => {
  test('a role binding grants its rights in its own namespace only', async () => {
    await seed('roles', { kind: 'Role', metadata: { namespace: 'default', name: 'r' }, ...podReader });
    const metadata = { namespace: 'default', name: 'b' };
    await seed('rolebindings', { kind: 'RoleBinding', metadata, ...toNobody, ...roleRef('Role', 'r') });
    assert.equal((await api.call('GET', PODS, { as: 'nobody' })).status, 200);
    assert.equal((await api.call('GET', '/api/v1/namespaces/kube-system/pods', { as: 'nobody' })).status, 403);
    assert.equal((await api.call('GET', '/api/v1/pods', { as: 'nobody' })).status, 403);
    assert.equal((await api.call('POST', PODS, { as: 'nobody', body: podBody('p') })).status, 403);
  });

  test('a cluster role binding grants its rights everywhere, until it is deleted', async () => {
    await seed('clusterroles', { kind: 'ClusterRole', metadata: { name: 'r' }, ...podReader });
    const binding = {
      kind: 'ClusterRoleBinding',
      metadata: { name: 'b' },
      ...toNobody,
      ...roleRef('ClusterRole', 'r'),
    };
    await seed('clusterrolebindings', binding);
    assert.equal((await api.call('GET', '/api/v1/pods', { as: 'nobody' })).status, 200);
    const key = objectKey({ group: RBAC.group, resource: 'clusterrolebindings', namespace: '', name: 'b' });
    const { object } = await api.store.get(key);
    assert.ok(object !== undefined);
    await api.store.write([{ kind: 'delete', key, value: object.value, expectedRevision: object.revision }]);
    await api.call('GET', PODS);
    assert.equal((await api.call('GET', '/api/v1/pods', { as: 'nobody' })).status, 403);
  });

  for (const [title, url, status] of [
    ['a list of that object', `${PODS}?fieldSelector=metadata.name%3Da`, 200],
    ['a list that narrows it further', `${PODS}?fieldSelector=spec.nodeName%3Dx,metadata.name%3D%3Da`, 200],
    ['the object', `${PODS}/a`, 404],
    ['a list of another', `${PODS}?fieldSelector=metadata.name%3Db`, 403],
    ['a list of all others', `${PODS}?fieldSelector=metadata.name!%3Da`, 403],
    ['a list of all', PODS, 403],
    ['a list of what cannot be read', `${PODS}?fieldSelector=metadata.name%3Da,x`, 403],
  ] as const) {
    test(`a user who may read one object requests ${title}: ${status}`, async () => {
      const rules = [{ ...podReader.rules[0], resourceNames: ['a'] }];
      await seed('roles', { kind: 'Role', metadata: { namespace: 'default', name: 'r' }, rules });
      const metadata = { namespace: 'default', name: 'b' };
      await seed('rolebindings', { kind: 'RoleBinding', metadata, ...toNobody, ...roleRef('Role', 'r') });
      const got = await api.call('GET', url, { as: 'nobody' });
      assert.equal(got.status, status, got.textAt('message'));
    });
  }

  test('a refused list of one object names that object', async () => {
    const got = await api.call('GET', `${PODS}?fieldSelector=metadata.name%3Da&watch=true`, { as: 'nobody' });
    const why = 'User "nobody" cannot watch resource "pods" in API group "" in the namespace "default"';
    assert.equal(got.textAt('message'), `pods "a" is forbidden: ${why}`);
    assert.deepEqual(got.at('details'), { name: 'a', kind: 'pods' });
  });

  const request = (over: object) => ({
    kind: 'resource' as const,
    verb: 'get',
    path: '',
    group: '',
    version: 'v1',
    resource: 'pods',
    namespace: 'a',
    name: 'x',
    subresource: '',
    rest: '',
    ...over,
  });
  const rules: readonly (readonly [string, PolicyRule, object, boolean])[] = [
    ['verb and resource', { verbs: ['get'], apiGroups: [''], resources: ['pods'] }, {}, true],
    ['another verb', { verbs: ['list'], apiGroups: [''], resources: ['pods'] }, {}, false],
    ['another group', { verbs: ['get'], apiGroups: ['apps'], resources: ['pods'] }, {}, false],
    [
      'a subresource is not its resource',
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
      { subresource: 'log' },
      false,
    ],
    [
      'a subresource by name',
      { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] },
      { subresource: 'log' },
      true,
    ],
    [
      'a subresource of everything',
      { verbs: ['get'], apiGroups: [''], resources: ['*/log'] },
      { subresource: 'log' },
      true,
    ],
    ['one name', { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: ['x'] }, {}, true],
    ['another name', { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: ['y'] }, {}, false],
  ];
  for (const [title, rule, over, allowed] of rules) {
    test(`rule: ${title} is ${allowed ? 'allowed' : 'not allowed'}`, () => {
      assert.equal(ruleAllows(rule, request(over)), allowed);
    });
  }

  test('each part of a rule must be covered, also by several rules', () => {
    const owned = [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['list'], apiGroups: [''], resources: ['*'] },
    ];
    const covers = (rule: PolicyRule): boolean => uncovered(owned, [rule]).length === 0;
    assert.ok(covers({ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }));
    assert.ok(!covers({ verbs: ['get'], apiGroups: [''], resources: ['pods', 'secrets'] }));
    assert.ok(!covers({ verbs: ['*'], apiGroups: [''], resources: ['pods'] }));
    const rules = [
      { verbs: ['*'], nonResourceURLs: ['*'] },
      { verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets', 'pods'] },
      { verbs: ['get'], apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['a'] },
    ];
    assert.deepEqual(describeRules(uncovered(owned, rules)), [
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
      '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["a"], Verbs:["get"]}',
      '{NonResourceURLs:["*"], Verbs:["*"]}',
    ]);
  });
});

describe('service account tokens', () => {
  const account = async (name = 'bot'): Promise<string> => {
    const created = await api.call('POST', ACCOUNTS, { body: { metadata: { name } } });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    return created.textAt('metadata.uid');
  };
  const request = (spec: object, name = 'bot') =>
    api.call('POST', `${ACCOUNTS}/${name}/token`, {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
    });
  const whoami = (token: string, by = api) =>
    by.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      as: token,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    });

  test('a token request without options gets the default token', async () => {
    await account('silent');
    for (const body of [{}, { spec: null }, { spec: {} }]) {
      const answer = await api.call('POST', `${ACCOUNTS}/silent/token`, { body });
      assert.equal(answer.status, 201, answer.textAt('message'));
      assert.equal(answer.at('spec.expirationSeconds'), 3_600);
    }
  });

  test('a token names its account and groups', async () => {
    await account();
    const me = await whoami((await request({ expirationSeconds: 600 })).textAt('status.token'));
    assert.equal(me.at('status.userInfo.username'), 'system:serviceaccount:default:bot');
    assert.deepEqual(me.at('status.userInfo.groups'), [
      'system:serviceaccounts',
      'system:serviceaccounts:default',
      'system:authenticated',
    ]);
  });

  test('a token becomes invalid with its account, also when a new account has the same name', async () => {
    await account();
    const token = (await request({})).textAt('status.token');
    await api.call('DELETE', `${ACCOUNTS}/bot`);
    await account();
    assert.equal((await whoami(token)).status, 401);
  });

  test('a token bound to a pod becomes invalid with the pod', async () => {
    await account();
    await api.call('POST', PODS, { body: podBody('p', { spec: { serviceAccountName: 'bot' } }) });
    const token = (await request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } })).textAt(
      'status.token',
    );
    const me = await whoami(token);
    assert.deepEqual(me.at('status.userInfo.extra')?.constructor, Object);
    await api.call('DELETE', `${PODS}/p`);
    assert.equal((await whoami(token)).status, 401);
  });

  test('a token can be bound only to a pod of the same account', async () => {
    await account();
    await api.call('POST', PODS, { body: podBody('p') });
    const refused = await request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } });
    assert.equal(refused.status, 400);
  });

  test('a token with another audience, a changed one and a foreign one are 401', async () => {
    await account();
    const elsewhere = (await request({ audiences: ['vault'] })).textAt('status.token');
    const good = (await request({})).textAt('status.token');
    const [head, payload, signature] = good.split('.');
    const claims: unknown = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
    const forged = Buffer.from(JSON.stringify({ ...(claims as object), exp: 9_999_999_999 })).toString('base64url');
    for (const token of [elsewhere, `${head}.${forged}.${signature}`, 'a.b.c']) {
      assert.equal((await whoami(token)).status, 401, token);
    }
    assert.equal((await whoami(good)).status, 201);
  });

  test('a token request below ten minutes is 422', async () => {
    await account();
    assert.equal((await request({ expirationSeconds: 60 })).status, 422);
  });

  test('a token review identifies the user of a token for another server', async () => {
    await account();
    const token = (await request({ audiences: ['vault'] })).textAt('status.token');
    const review = (spec: object) =>
      api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec },
      });
    const good = await review({ token, audiences: ['vault'] });
    assert.deepEqual([good.at('status.authenticated'), good.at('status.audiences')], [true, ['vault']]);
    assert.equal((await review({ token })).at('status.authenticated'), undefined);
  });

  for (const [title, spec, bound, seconds, warned] of [
    ['the token of a pod lives on for a year, and says when it should be replaced', {}, true, 365 * 86_400, 3_607],
    ['a token of another length lives as long as was asked', { expirationSeconds: 3_600 }, true, 3_600, undefined],
    ['a token for another audience has the requested lifetime', { audiences: ['vault'] }, true, 3_607, undefined],
    ['a token without a pod lives as long as was asked', {}, false, 3_607, undefined],
  ] as const) {
    test(title, async () => {
      await account();
      await api.call('POST', PODS, { body: podBody('p', { spec: { serviceAccountName: 'bot' } }) });
      const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' };
      const got = await request({ expirationSeconds: 3_607, ...(bound ? { boundObjectRef } : {}), ...spec });
      const [, payload = ''] = got.textAt('status.token').split('.');
      const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
      const issued = Number(valueAt(claims, 'iat'));
      assert.equal(Number(valueAt(claims, 'exp')) - issued, seconds);
      const told = valueAt(Reflect.get(Object(claims), 'kubernetes.io'), 'warnafter');
      assert.equal(told === undefined ? undefined : Number(told) - issued, warned);
      const until = (parseTime(got.textAt('status.expirationTimestamp')) ?? 0) / 1000 - issued;
      assert.equal(until, Number(got.at('spec.expirationSeconds')));
    });
  }

  test('the public key is published for offline token verification', async () => {
    const keys = await api.call('GET', '/openid/v1/jwks');
    assert.deepEqual([keys.at('keys.0.kty'), keys.at('keys.0.alg'), keys.at('keys.0.d')], ['EC', 'ES256', undefined]);
    assert.equal(keys.headers['content-type'], 'application/jwk-set+json');
    const { headers } = await api.call('GET', '/.well-known/openid-configuration');
    for (const kept of [keys.headers, headers]) assert.equal(kept['cache-control'], 'public, max-age=3600');
  });

  test('further keys of a server are published, and what they have signed is accepted', async (t) => {
    await account();
    const token = (await request({})).textAt('status.token');
    const next = newKey();
    for (const [further, status, published] of [
      [{}, 401, 1],
      [{ verificationKeys: signingKey }, 201, 2],
    ] as const) {
      const other = await startTestApi({ store: api.store, serviceAccounts: { signingKey: next, ...further } });
      t.after(() => other.server.stop());
      assert.equal((await whoami(token, other)).status, status);
      assert.equal((await other.call('GET', '/openid/v1/jwks')).at(`keys.${published}`), undefined);
      assert.equal((await other.call('GET', '/openid/v1/jwks')).at(`keys.${published - 1}.kty`), 'EC');
    }
  });

  test('every pod has a token of its account at the standard path', async () => {
    const pod = await api.call('POST', PODS, { body: podBody('p') });
    assert.equal(pod.at('spec.serviceAccountName'), 'default');
    assert.equal(pod.at('spec.volumes.0.projected.sources.0.serviceAccountToken.path'), 'token');
    assert.equal(pod.at('spec.containers.0.volumeMounts.0.mountPath'), '/var/run/secrets/kubernetes.io/serviceaccount');
    const body = podBody('q', { spec: { automountServiceAccountToken: false } });
    assert.equal((await api.call('POST', PODS, { body })).at('spec.volumes'), undefined);
  });
});

describe('impersonation', () => {
  test('impersonation gives exactly the permissions of the other user', async () => {
    const headers = { 'impersonate-user': 'jane' };
    const refused = await api.call('GET', PODS, { headers });
    assert.equal(refused.status, 403);
    assert.match(refused.textAt('message'), /User "jane" cannot list resource "pods"/);
  });

  test('impersonation without permission is refused before any other check', async () => {
    const refused = await api.call('GET', PODS, { as: 'nobody', headers: { 'impersonate-user': 'admin' } });
    assert.match(refused.textAt('message'), /User "nobody" cannot impersonate resource "users"/);
  });

  for (const [name, group, groups] of [
    ['jane', 'team', ['team', 'system:authenticated']],
    ['jane', 'system:authenticated', ['system:authenticated']],
    ['jane', 'system:unauthenticated', ['system:unauthenticated']],
    ['system:anonymous', 'team', ['team', 'system:unauthenticated']],
    ['system:anonymous', '', ['system:unauthenticated']],
    ['system:serviceaccount:a:b', '', ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated']],
  ] as const) {
    test(`${name} of ${group || 'no group'} is of ${groups.join(' and ')}`, async () => {
      await seed('clusterroles', { kind: 'ClusterRole', metadata: { name: 'all' }, rules: EVERYTHING });
      const subjects = [...new Set(['team', ...groups])].map((each) => ({ kind: 'Group', name: each }));
      const metadata = { name: 'all' };
      await seed('clusterrolebindings', {
        kind: 'ClusterRoleBinding',
        metadata,
        subjects,
        ...roleRef('ClusterRole', 'all'),
      });
      const headers = { 'impersonate-user': name, ...(group === '' ? {} : { 'impersonate-group': group }) };
      const body = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' };
      const seen = await api.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { headers, body });
      assert.deepEqual(seen.at('status.userInfo.groups'), groups);
    });
  }

  test('extras are authorized before the uid', async () => {
    const rules = [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'] }];
    await seed('clusterroles', { kind: 'ClusterRole', metadata: { name: 'act' }, rules });
    const metadata = { name: 'act' };
    await seed('clusterrolebindings', {
      kind: 'ClusterRoleBinding',
      metadata,
      ...toNobody,
      ...roleRef('ClusterRole', 'act'),
    });
    const headers = { 'impersonate-user': 'jane', 'impersonate-uid': 'u', 'impersonate-extra-scopes': 'view' };
    const refused = await api.call('GET', PODS, { as: 'nobody', headers });
    assert.equal(
      refused.textAt('message'),
      'userextras.authentication.k8s.io "view" is forbidden: User "nobody" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope',
    );
  });

  test('groups without a user are 500', async () => {
    const headers = { 'impersonate-group': 'system:masters' };
    assert.equal((await api.call('GET', PODS, { as: 'nobody', headers })).status, 500);
  });
});

test('access reviews answer for the caller and for other users', async () => {
  const review = (kind: string, spec: object, as = 'admin') =>
    api.call('POST', `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`, {
      as,
      body: { apiVersion: 'authorization.k8s.io/v1', kind, spec },
    });
  const resourceAttributes = { verb: 'create', resource: 'pods', namespace: 'default' };
  assert.equal((await review('SelfSubjectAccessReview', { resourceAttributes })).at('status.allowed'), true);
  const other = await review('SubjectAccessReview', { user: 'nobody', resourceAttributes });
  assert.equal(other.at('status.allowed'), false);
});

describe('eviction', () => {
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

  const runningPod = async (name: string): Promise<void> => {
    await api.call('POST', PODS, {
      body: podBody(name, { metadata: { labels: { app: 'x' } }, spec: { nodeName: 'a' } }),
    });
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await api.call('PATCH', `${PODS}/${name}/status`, { body: { status } });
  };
  const evict = (name: string) =>
    api.call('POST', `${PODS}/${name}/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    });

  test('consumes the budget once per disruption and is 429 when it is exhausted', async () => {
    const selector = { matchLabels: { app: 'x' } };
    await api.call('POST', budgets, { body: { metadata: { name: 'b' }, spec: { minAvailable: 1, selector } } });
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: 2,
      desiredHealthy: 1,
      expectedPods: 2,
    };
    await api.call('PATCH', `${budgets}/b/status`, { body: { status } });
    await runningPod('p');
    await runningPod('q');
    const answers = await Promise.all([evict('p'), evict('q')]);
    assert.deepEqual(
      answers.map((each) => each.status).toSorted((a, b) => a - b),
      [201, 429],
    );
    const refused = answers.find((each) => each.status === 429);
    assert.equal(refused?.at('details.causes.0.reason'), 'DisruptionBudget');
    assert.equal((await api.call('GET', `${budgets}/b`)).at('status.disruptionsAllowed'), 0);
  });

  test('without a budget is a graceful deletion', async () => {
    await runningPod('p');
    assert.equal((await evict('p')).status, 201);
    assert.equal((await api.call('GET', `${PODS}/p`)).at('metadata.deletionGracePeriodSeconds'), 30);
  });
});

describe('a kubelet', () => {
  const as = 'node-a';
  const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

  test('reads its own bound pods and no others', async () => {
    await api.call('POST', PODS, { body: podBody('mine', { spec: { nodeName: 'a' } }) });
    await api.call('POST', PODS, { body: podBody('other', { spec: { nodeName: 'b' } }) });
    await api.call('GET', PODS);
    assert.deepEqual((await api.call('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Da', { as })).names(), ['mine']);
    assert.equal((await api.call('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3Db', { as })).status, 403);
    assert.equal((await api.call('GET', '/api/v1/pods', { as })).status, 403);
    assert.equal((await api.call('GET', `${PODS}/mine`, { as })).status, 200);
    assert.equal((await api.call('GET', `${PODS}/other`, { as })).status, 403);
  });

  test('reads only objects that its pods refer to', async () => {
    for (const name of ['used', 'unused']) await api.call('POST', CONFIG_MAPS, { body: { metadata: { name } } });
    const volumes = [{ name: 'v', configMap: { name: 'used' } }];
    await api.call('POST', PODS, { body: podBody('mine', { spec: { nodeName: 'a', volumes } }) });
    await api.call('GET', PODS);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/used`, { as })).status, 200);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/unused`, { as })).status, 403);
    assert.equal((await api.call('GET', `${CONFIG_MAPS}/used`, { as: 'node-b' })).status, 403);
    assert.equal((await api.call('GET', CONFIG_MAPS, { as })).status, 403);
  });

  test('reads the volumes of its pods and its own attachments', async () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
    await api.call('POST', PODS, { body: podBody('mine', { spec: { nodeName: 'a', volumes } }) });
    for (const [name, claim] of [
      ['used', 'data'],
      ['unused', 'other'],
    ]) {
      const spec = {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/d' },
        claimRef: { namespace: 'default', name: claim },
      };
      const made = await api.call('POST', '/api/v1/persistentvolumes', { body: { metadata: { name }, spec } });
      assert.equal(made.status, 201, made.textAt('message'));
    }
    const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments';
    const spec = { attacher: 'x', nodeName: 'a', source: { persistentVolumeName: 'used' } };
    assert.equal((await api.call('POST', ATTACHMENTS, { body: { metadata: { name: 'at' }, spec } })).status, 201);
    await api.call('GET', PODS);
    for (const [url, by, status] of [
      ['/api/v1/persistentvolumes/used', 'node-a', 200],
      ['/api/v1/persistentvolumes/used', 'node-b', 403],
      ['/api/v1/persistentvolumes/unused', 'node-a', 403],
      ['/api/v1/persistentvolumes/gone', 'node-a', 404],
      ['/api/v1/persistentvolumes', 'node-a', 403],
      [`${ATTACHMENTS}/at`, 'node-a', 200],
      [`${ATTACHMENTS}/at`, 'node-b', 403],
    ] as const) {
      assert.equal((await api.call('GET', url, { as: by })).status, status, `${by} ${url}`);
    }
  });

  test('reads the keys of the volumes of its pods, and no other Secret', async () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'disk' } }];
    await api.call('POST', PODS, { body: podBody('writer', { spec: { nodeName: 'a', volumes } }) });
    const spec = {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: 'default', name: 'disk' },
      csi: {
        driver: 'storage.holdfast.io',
        volumeHandle: 'disk',
        volumeAttributes: { server: 'storage.example:9440' },
        nodePublishSecretRef: { namespace: 'kube-system', name: 'disk-key' },
      },
    };
    const made = await api.call('POST', '/api/v1/persistentvolumes', { body: { metadata: { name: 'disk' }, spec } });
    assert.equal(made.status, 201, made.textAt('message'));
    // A claim that names the volume of another one gets nothing of it.
    for (const name of ['disk', 'thief']) {
      const claim = {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: '',
        volumeName: 'disk',
      };
      await api.call('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
        body: { metadata: { name }, spec: claim },
      });
    }
    const stolen = [{ name: 'v', persistentVolumeClaim: { claimName: 'thief' } }];
    await api.call('POST', PODS, { body: podBody('thief', { spec: { nodeName: 'b', volumes: stolen } }) });
    await api.call('GET', PODS);
    const secrets = '/api/v1/namespaces/kube-system/secrets';
    for (const [url, by, status] of [
      [`${secrets}/disk-key`, 'node-a', 404],
      [`${secrets}/disk-key`, 'node-b', 403],
      [`${secrets}/other`, 'node-a', 403],
      ['/api/v1/namespaces/default/secrets/disk-key', 'node-a', 403],
      [`${secrets}?fieldSelector=metadata.name%3Ddisk-key`, 'node-a', 403],
    ] as const) {
      assert.equal((await api.call('GET', url, { as: by })).status, status, `${by} ${url}`);
    }
  });

  test('without a node name has no rights', async () => {
    const headers = { 'impersonate-user': 'system:node:', 'impersonate-group': 'system:nodes' };
    const refused = await api.call('GET', '/api/v1/pods?fieldSelector=spec.nodeName%3D', { headers });
    const why = 'User "system:node:" cannot list resource "pods" in API group "" at the cluster scope';
    assert.equal(refused.textAt('message'), `pods is forbidden: ${why}: unknown node for user "system:node:"`);
  });

  test('gets tokens only for its own pods', async () => {
    await api.call('POST', ACCOUNTS, { body: { metadata: { name: 'default' } } });
    for (const name of ['a', 'b']) await api.call('POST', '/api/v1/nodes', { body: { metadata: { name } } });
    const made = await api.call('POST', PODS, { body: podBody('mine', { spec: { nodeName: 'a' } }) });
    const order = (who: string, boundObjectRef?: object) =>
      api.call('POST', `${ACCOUNTS}/default/token`, {
        as: who,
        body: { spec: boundObjectRef === undefined ? {} : { boundObjectRef } },
      });
    const pod = { kind: 'Pod', apiVersion: 'v1', name: 'mine', uid: made.textAt('metadata.uid') };
    assert.equal((await order('node-a', pod)).status, 201);
    assert.equal((await order('node-b', pod)).status, 403);
    assert.equal((await order('node-a')).status, 403);
  });
});
