import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { startTestApi } from '../testing/fixture.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const SECRETS = '/api/v1/namespaces/default/secrets';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString();

async function server(t: TestContext) {
  const api = await startTestApi({ clock: createSystemClock(), serviceAccounts: { signingKey } });
  t.after(() => api.stop());
  const create = async (path: string, body: object): Promise<void> => {
    assert.equal((await api.call('POST', path, { body })).status, 201);
  };
  const read = async (name: string) => api.call('GET', `${SECRETS}/${name}`);
  return {
    api,
    read,
    create,
    ask: (name: string, account: string) =>
      create(SECRETS, {
        metadata: { name, annotations: { 'kubernetes.io/service-account.name': account } },
        type: 'kubernetes.io/service-account-token',
      }),
    token: async (name: string): Promise<string> =>
      fromBase64(
        await eventually(async () => {
          const answer = await read(name);
          return (
            answer.status === 200 && JSON.stringify(answer.body).includes('"token":') && answer.textAt('data.token')
          );
        }, `a token in ${name}`),
      ),
    gone: (name: string) => eventually(async () => (await read(name)).status === 404, `${name} is gone`),
    userOf: async (token: string): Promise<string> => {
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
      const answer = await api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: review });
      const { status } = answer.body as { status: { authenticated?: boolean; user?: { username?: string } } };
      return status.authenticated === true ? (status.user?.username ?? '') : 'nobody';
    },
  };
}

test('a Secret that requests a token of an account gets it, with all fields that a client needs', async (t) => {
  const { create, ask, token, read, userOf, api } = await server(t);
  await create('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'kube-root-ca.crt' },
    data: { 'ca.crt': 'a certificate' },
  });
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await ask('robot-token', 'robot');
  assert.equal(await userOf(await token('robot-token')), 'system:serviceaccount:default:robot');
  const { body } = await read('robot-token');
  const { data, metadata } = body as {
    data: Record<string, string>;
    metadata: { annotations: Record<string, string> };
  };
  assert.equal(data['namespace'], base64('default'));
  assert.equal(data['ca.crt'], base64('a certificate'));
  const uid = (await api.call('GET', `${ACCOUNTS}/robot`)).textAt('metadata.uid');
  assert.equal(metadata.annotations['kubernetes.io/service-account.uid'], uid);
});

test('the token becomes invalid with its Secret', async (t) => {
  const { create, ask, token, userOf, api } = await server(t);
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await ask('robot-token', 'robot');
  const issued = await token('robot-token');
  assert.equal((await api.call('DELETE', `${SECRETS}/robot-token`)).status, 200);
  assert.equal(await userOf(issued), 'nobody');
});

test('a removed token is issued again, and the certificate is added once it is published', async (t) => {
  const { create, ask, token, api, read } = await server(t);
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await ask('robot-token', 'robot');
  await token('robot-token');
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { data: { token: null } };
  assert.equal((await api.call('PATCH', `${SECRETS}/robot-token`, { headers, body })).status, 200);
  await token('robot-token');
  await create('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'kube-root-ca.crt' },
    data: { 'ca.crt': 'later' },
  });
  await eventually(
    async () => JSON.stringify((await read('robot-token')).body).includes(base64('later')),
    'the certificate',
  );
});

test('Secrets of an account that was deleted, or never existed, are removed', async (t) => {
  const { create, ask, token, gone, api, read } = await server(t);
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await ask('robot-token', 'robot');
  await token('robot-token');
  await create(SECRETS, { metadata: { name: 'other' }, stringData: { a: 'b' } });
  assert.equal((await api.call('DELETE', `${ACCOUNTS}/robot`)).status, 200);
  await gone('robot-token');
  await ask('orphan', 'nobody');
  await gone('orphan');
  assert.equal((await read('other')).status, 200);
});

test('a token that was replaced or removed from its Secret is invalid, and so is one marked as unused', async (t) => {
  const { create, ask, token, userOf, api } = await server(t);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patch = async (body: object) =>
    assert.equal((await api.call('PATCH', `${SECRETS}/robot-token`, { headers, body })).status, 200);
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await ask('robot-token', 'robot');
  const first = await token('robot-token');
  const robot = 'system:serviceaccount:default:robot';
  assert.equal(await userOf(first), robot);
  await patch({ data: { token: base64('another') } });
  assert.equal(await userOf(first), 'nobody');
  await patch({ data: { token: null } });
  const second = await token('robot-token');
  assert.deepEqual([await userOf(first), await userOf(second)], ['nobody', robot]);
  await patch({ metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } } });
  assert.equal(await userOf(second), 'nobody');
});

test('a requested token bound to a token Secret is valid although the Secret holds another', async (t) => {
  const { create, ask, token, userOf, api } = await server(t);
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await ask('robot-token', 'robot');
  await token('robot-token');
  const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 'robot-token' };
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { boundObjectRef } };
  const asked = await api.call('POST', `${ACCOUNTS}/robot/token`, { body });
  assert.equal(await userOf(asked.textAt('status.token')), 'system:serviceaccount:default:robot');
});

test('the controller manager gets no token by a Secret: it cannot create one or point one to another account', async (t) => {
  const { create, ask, token, api } = await server(t);
  await create(ACCOUNTS, { metadata: { name: 'robot' } });
  await create(ACCOUNTS, { metadata: { name: 'boss' } });
  await ask('robot-token', 'robot');
  await token('robot-token');
  const annotations = { 'kubernetes.io/service-account.name': 'boss', 'kubernetes.io/service-account.uid': null };
  const secret = { metadata: { name: 'made', annotations }, type: 'kubernetes.io/service-account-token' };
  const as = 'manager';
  assert.equal((await api.call('POST', SECRETS, { as, body: secret })).status, 403);
  const headers = { 'content-type': 'application/merge-patch+json' };
  for (const body of [{ metadata: { annotations } }, { data: { token: null } }]) {
    const refused = await api.call('PATCH', `${SECRETS}/robot-token`, { as, headers, body });
    assert.equal(refused.status, 403);
    assert.match(refused.textAt('message'), /may change only its owners and finalizers/);
  }
  const finalizers = { metadata: { finalizers: ['example.com/wait'] } };
  assert.equal((await api.call('PATCH', `${SECRETS}/robot-token`, { as, headers, body: finalizers })).status, 200);
  const apply = {
    as,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify({ ...secret, apiVersion: 'v1', kind: 'Secret' }),
  };
  assert.equal((await api.call('PATCH', `${SECRETS}/made?fieldManager=m`, apply)).status, 403);
});
