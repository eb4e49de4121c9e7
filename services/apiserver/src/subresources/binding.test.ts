import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

const bind = (name: string, metadata: object = {}) =>
  api.call('POST', `${PODS}/${name}/binding`, {
    body: { apiVersion: 'v1', kind: 'Binding', metadata: { name, ...metadata }, target: { kind: 'Node', name: 'a' } },
  });

test('a binding of another pod, revision or namespace is refused with the messages of Kubernetes', async () => {
  const made = await api.call('POST', PODS, { body: podBody('p') });
  const found = (key: string): string => String(made.at(`metadata.${key}`));
  const stored = (why: string): string =>
    `Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${why}`;
  const cases: readonly (readonly [metadata: object, status: number, message: string])[] = [
    [
      { namespace: 'other', name: 'q' },
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [{ name: 'q' }, 400, 'name in URL does not match name in Binding object'],
    [{ uid: 'x' }, 409, stored(`UID in precondition: x, UID in object meta: ${found('uid')}`)],
    [
      { resourceVersion: '1' },
      409,
      stored(`ResourceVersion in precondition: 1, ResourceVersion in object meta: ${found('resourceVersion')}`),
    ],
  ];
  for (const [metadata, status, message] of cases) {
    const got = await bind('p', metadata);
    assert.deepEqual([got.status, got.at('message')], [status, message]);
  }
  assert.equal((await bind('p', { uid: found('uid'), resourceVersion: found('resourceVersion') })).status, 201);
});

test('a pod gets the annotations of its binding, not its labels', async () => {
  await api.call('POST', PODS, { body: podBody('noted') });
  assert.equal((await bind('noted', { annotations: { a: 'b' }, labels: { c: 'd' } })).status, 201);
  const pod = await api.call('GET', `${PODS}/noted`);
  assert.deepEqual(
    [pod.at('metadata.annotations'), pod.at('metadata.labels'), pod.at('spec.nodeName')],
    [{ a: 'b' }, undefined, 'a'],
  );
});

test('an eviction must be in the namespace of its path', async () => {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p', namespace: 'other' } };
  const refused = await api.call('POST', `${PODS}/p/eviction`, { body });
  assert.deepEqual(
    [refused.status, refused.at('message')],
    [400, 'the namespace of the provided object does not match the namespace sent on the request'],
  );
});
