import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { HttpMethod } from '@holdfast/client';
import { CORALS, coral, coralDefinition, define, definitionUrl, REEF, until } from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const SUBJECTS = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody' }];
const NAMES = ['corals.reef.example.com', 'pearls.reef.example.com'];

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
afterEach(async () => {
  for (const name of NAMES) {
    await api.call('DELETE', definitionUrl(name));
    await until(async () => (await api.call('GET', definitionUrl(name))).status === 404);
  }
});
after(() => api.stop());

interface Rights {
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
}

/** Grants `nobody` access to kinds of the group: in the namespace `default`, or in the whole cluster. */
async function grant(kind: 'Role' | 'ClusterRole', name: string, rights: Rights): Promise<void> {
  const place = kind === 'Role' ? `${RBAC}/namespaces/default/role` : `${RBAC}/clusterrole`;
  const role = { metadata: { name }, rules: [{ apiGroups: ['reef.example.com'], ...rights }] };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name };
  assert.equal((await api.call('POST', `${place}s`, { body: role })).status, 201);
  const binding = { metadata: { name }, roleRef, subjects: SUBJECTS };
  assert.equal((await api.call('POST', `${place}bindings`, { body: binding })).status, 201);
}

/** Every way to reach the object `a`, or the list, of the path of a kind. */
function waysTo(path: string): readonly (readonly [HttpMethod, string, unknown])[] {
  const body = coral('a', { depth: 9 });
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' }, spec: { replicas: 9 } };
  return [
    ['GET', path, undefined],
    ['GET', `${path}?watch=1`, undefined],
    ['POST', path, coral('b')],
    ['DELETE', path, undefined],
    ['GET', `${path}/a`, undefined],
    ['PUT', `${path}/a`, body],
    ['PATCH', `${path}/a`, { spec: { depth: 9 } }],
    ['DELETE', `${path}/a`, undefined],
    ['GET', `${path}/a/status`, undefined],
    ['PATCH', `${path}/a/status`, { status: { phase: 'Taken' } }],
    ['PUT', `${path}/a/scale`, scale],
  ];
}

test('[CVE-2019-11247] rights in a namespace do not reach a cluster-scoped custom resource by a namespaced path', async () => {
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  const spec = { depth: { type: 'integer' }, replicas: { type: 'integer' } };
  const version = { subresources: { status: {}, scale } };
  await define(api, coralDefinition({ spec, version, definition: { scope: 'Cluster' } }));
  const made = await api.call('POST', `${REEF}/corals`, { body: coral('a', { depth: 1, replicas: 1 }) });
  assert.equal(made.status, 201);
  await grant('Role', 'all-of-corals', { verbs: ['*'], resources: ['corals', 'corals/status', 'corals/scale'] });
  for (const as of ['nobody', 'admin']) {
    for (const [method, url, body] of waysTo(CORALS)) {
      assert.equal((await api.call(method, url, { as, body })).status, 404, `${method} ${url} as ${as}`);
    }
  }
  for (const [method, url, body] of waysTo(`${REEF}/corals`)) {
    assert.equal((await api.call(method, url, { as: 'nobody', body })).status, 403, `${method} ${url}`);
  }
  assert.deepEqual((await api.call('GET', `${REEF}/corals/a`)).body, made.body);
  assert.deepEqual((await api.call('GET', `${REEF}/corals`)).names(), ['a']);
});

async function definePearls(): Promise<void> {
  const names = { plural: 'pearls', singular: 'pearl', kind: 'Pearl', listKind: 'PearlList' };
  await define(api, { ...(coralDefinition({ names }) as object), metadata: { name: 'pearls.reef.example.com' } });
  for (const name of ['secret', 'secret-too']) {
    const body = { ...(coral(name) as object), kind: 'Pearl' };
    assert.equal((await api.call('POST', `${REEF}/namespaces/default/pearls`, { body })).status, 201);
  }
}

test('[CVE-2022-3162] the right to one custom kind in all namespaces does not include other kinds of the group', async () => {
  await define(api, coralDefinition({}));
  await definePearls();
  for (const name of ['a', 'b']) await api.call('POST', CORALS, { body: coral(name) });
  await grant('ClusterRole', 'read-corals', { verbs: ['get', 'list', 'watch'], resources: ['corals', 'corals/*'] });
  const ask = (url: string): ReturnType<TestApi['call']> => api.call('GET', `${REEF}${url}`, { as: 'nobody' });
  assert.deepEqual((await ask('/corals')).names(), ['a', 'b']);
  const refused = ['/pearls', '/pearls?watch=1', '/watch/pearls', '/namespaces/default/pearls/secret'];
  for (const url of refused) assert.equal((await ask(url)).status, 403, url);
  const watched = `${REEF}/watch/namespaces/default/corals`;
  assert.equal(
    (await api.call('DELETE', watched, { as: 'nobody' })).status,
    405,
    'a right to watch is enough to be told',
  );
  const continued = await api.call('GET', `${REEF}/pearls?limit=1`);
  const token = encodeURIComponent(continued.textAt('metadata.continue'));
  assert.notEqual(token, '');
  const others = ['../pearls', '../pearls/default', '..', '../pearls/default/secret', 'secret'];
  const tricks = [
    ...others.flatMap((other) => [
      `/corals?fieldSelector=metadata.name=${other}`,
      `/corals?fieldSelector=metadata.namespace=${other}`,
      `/namespaces/default/corals/${other}`,
      `/namespaces/${encodeURIComponent(other)}/corals`,
      `/namespaces/default/corals/${encodeURIComponent(other)}`,
      `/namespaces/../corals/${other}`,
    ]),
    `/corals?limit=5&continue=${token}`,
    '/corals/../pearls',
    '/namespaces/default/corals/a/../../pearls/secret',
  ];
  for (const url of tricks) {
    const answer = await ask(url);
    assert.doesNotMatch(JSON.stringify(answer.at('items') ?? ''), /Pearl|secret/, url);
    assert.notEqual(answer.at('kind'), 'Pearl', url);
    assert.notEqual(answer.at('kind'), 'PearlList', url);
  }
});
