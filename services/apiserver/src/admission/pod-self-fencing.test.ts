import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SELF_FENCING } from '@holdfast/api';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const says = (policy: string): object => ({ annotations: { [SELF_FENCING]: policy } });
const claims = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] };

/** A namespace for each policy, named after it. */
async function startApi(t: TestContext, ...policies: readonly string[]): Promise<TestApi> {
  const api = await startTestApi();
  t.after(() => api.stop());
  for (const policy of policies) {
    const body = { metadata: { name: policy, ...says(policy) } };
    assert.equal((await api.call('POST', '/api/v1/namespaces', { body })).status, 201);
  }
  return api;
}

const create = (api: TestApi, namespace: string, metadata: object, spec: object = {}): Promise<Answer> =>
  api.call('POST', `/api/v1/namespaces/${namespace}/pods`, {
    body: { metadata, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } },
  });

const seen = (answer: Answer): readonly unknown[] => {
  assert.equal(answer.status, 201, answer.textAt('message'));
  const { metadata, spec } = answer.body as unknown as {
    metadata: { annotations?: Record<string, string> };
    spec: { hostname?: string };
  };
  return [metadata.annotations?.[SELF_FENCING], spec.hostname];
};

test('[SAFE-22] a pod that says it is exclusive is known by its host name, also when its name is generated', async (t) => {
  const api = await startApi(t);
  assert.deepEqual(seen(await create(api, 'default', { name: 'one', ...says('exclusive') })), ['exclusive', 'one']);
  const generated = await create(api, 'default', { generateName: 'many-', ...says('exclusive') });
  assert.deepEqual(seen(generated), ['exclusive', generated.textAt('metadata.name')]);
  assert.deepEqual(seen(await create(api, 'default', { name: 'plain' })), [undefined, undefined]);
});

test('[SAFE-22] [SAFE-32] a namespace decides for pods that say nothing', async (t) => {
  const api = await startApi(t, 'all', 'off', 'exclusive');
  const named = { hostname: 'a' };
  const table: readonly (readonly [namespace: string, metadata: object, spec: object, result: readonly unknown[]])[] = [
    ['all', {}, {}, ['exclusive', 'a']],
    ['all', {}, named, [undefined, 'a']],
    ['all', {}, claims, [undefined, undefined]],
    ['all', says('off'), {}, ['off', undefined]],
    ['off', {}, named, ['off', 'a']],
    ['off', {}, {}, [undefined, undefined]],
    ['off', {}, { ...claims, ...named }, [undefined, 'a']],
    ['off', says('exclusive'), {}, ['exclusive', 'a']],
    ['exclusive', {}, {}, [undefined, undefined]],
  ];
  for (const [namespace, metadata, spec, result] of table) {
    const answer = await create(api, namespace, { name: 'a', ...metadata }, spec);
    assert.deepEqual(seen(answer), result, JSON.stringify([namespace, metadata, spec]));
    await api.call('DELETE', `/api/v1/namespaces/${namespace}/pods/a`);
  }
});

test('a pod that cannot be what its namespace asks for is created with a warning', async (t) => {
  const api = await startApi(t, 'all');
  for (const [metadata, spec] of [
    [{ name: 'a' }, { hostname: 'b' }],
    [{ name: 'a.b' }, {}],
    [{ generateName: 'a.b-' }, {}],
  ] as const) {
    const answer = await create(api, 'all', metadata, spec);
    assert.equal(answer.status, 201, JSON.stringify(metadata));
    assert.deepEqual(seen(answer), [undefined, 'hostname' in spec ? spec.hostname : undefined]);
    assert.match(JSON.stringify(answer.headers), /asks for exclusive pods/);
  }
});

const REFUSED: readonly (readonly [title: string, metadata: object, spec: object, message: RegExp])[] = [
  [
    'another value',
    { name: 'a', ...says('all') },
    {},
    /Unsupported value: "all": supported values: "exclusive", "off"/,
  ],
  ['off with a claim', { name: 'a', ...says('off') }, claims, /a pod that uses a claim cannot exclude itself/],
  ['exclusive with a host name', { name: 'a', ...says('exclusive') }, { hostname: 'b' }, /leave out spec\.hostname/],
  ['exclusive with a name that is no label', { name: 'a.b', ...says('exclusive') }, {}, /must be a DNS label/],
];
for (const [title, metadata, spec, message] of REFUSED) {
  test(`the policy of a pod is refused when it is impossible: ${title}`, async (t) => {
    const answer = await create(await startApi(t), 'default', metadata, spec);
    assert.equal(answer.status, 422);
    assert.match(answer.textAt('message'), message);
  });
}

test('a namespace with an unknown policy is refused', async (t) => {
  const api = await startApi(t);
  const body = { metadata: { name: 'n', ...says('none') } };
  const answer = await api.call('POST', '/api/v1/namespaces', { body });
  assert.equal(answer.status, 422);
  assert.match(answer.textAt('message'), /supported values: "exclusive", "all", "off"/);
});

test('[SAFE-22] a binding changes no policy of a pod', async (t) => {
  const api = await startApi(t);
  assert.equal((await create(api, 'default', { name: 'a' }, { hostname: 'a' })).status, 201);
  const bind = (metadata: object) => {
    const body = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'a', ...metadata },
      target: { name: 'node-1' },
    };
    return api.call('POST', '/api/v1/namespaces/default/pods/a/binding', { body });
  };
  const refused = await bind(says('off'));
  assert.equal(refused.status, 409, refused.textAt('message'));
  assert.match(refused.textAt('message'), /may not change/);
  assert.equal((await bind({})).status, 201);
});

for (const subresource of ['', '/status']) {
  test(`[SAFE-22] the policy of a pod is immutable, because its node and the control plane rely on it (pods${subresource})`, async (t) => {
    const api = await startApi(t);
    for (const [name, metadata] of [
      ['said', says('off')],
      ['silent', {}],
    ] as const) {
      assert.equal((await create(api, 'default', { name, ...metadata }, { hostname: name })).status, 201);
      const target = `/api/v1/namespaces/default/pods/${name}${subresource}`;
      for (const policy of ['exclusive', 'off', null]) {
        const body = { metadata: { annotations: { [SELF_FENCING]: policy } } };
        const answer = await api.call('PATCH', target, { body });
        const isSame = policy === (name === 'said' ? 'off' : null);
        assert.equal(answer.status, isSame ? 200 : 422, `${name} ${policy}`);
        if (!isSame)
          assert.match(answer.textAt('message'), /may not change: the node and the control plane rely on it/);
      }
    }
  });
}
