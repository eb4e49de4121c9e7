import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

/** Kubernetes 1.32's responses where a kind has special checks. */
let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

test('field selectors of nodes and namespaces', async () => {
  for (const [kind, field] of [
    ['namespaces', 'name'],
    ['namespaces', 'metadata.namespace'],
    ['nodes', 'metadata.namespace'],
  ]) {
    const refused = await api.call('GET', `/api/v1/${kind}?fieldSelector=${field}%3Da`);
    assert.deepEqual([refused.status, refused.textAt('message')], [400, `field label not supported: ${field}`], kind);
  }
  for (const path of ['v1/namespaces', 'v1/persistentvolumes']) {
    const field = path === 'v1/namespaces' ? 'status.phase' : 'metadata.namespace';
    assert.equal((await api.call('GET', `/api/${path}?fieldSelector=${field}%3Da`)).status, 200, path);
  }
});

test('an update with invalid metadata reports it as often as its kind validates it', async () => {
  const kinds: readonly (readonly [url: string, body: object, causes: number])[] = [
    ['/api/v1/namespaces/default/limitranges', {}, 3],
    ['/api/v1/namespaces/default/events', { involvedObject: { namespace: 'default' } }, 2],
    [
      '/api/v1/persistentvolumes',
      { spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, nfs: { server: 's', path: '/p' } } },
      4,
    ],
  ];
  for (const [url, body, causes] of kinds) {
    assert.equal((await api.call('POST', url, { body: { metadata: { name: 'm' }, ...body } })).status, 201, url);
    const refused = await api.call('PATCH', `${url}/m`, { body: { metadata: { labels: { a: 'b c' } } } });
    assert.equal(refused.status, 422, url);
    const told = refused.at('details.causes') as readonly { readonly field: string }[];
    assert.deepEqual(
      told.map(({ field }) => field),
      Array.from({ length: causes }, () => 'metadata.labels'),
      url,
    );
  }
});

test('metadata of an event with invalid fields is not validated', async () => {
  const metadata = { name: 'w', labels: { 'a b': '' }, finalizers: ['x'] };
  const fields = async (namespace: string): Promise<unknown> => {
    const body = { metadata, involvedObject: { namespace } };
    const refused = await api.call('POST', '/api/v1/namespaces/default/events', { body });
    return (refused.at('details.causes') as readonly { readonly field: string }[]).map(({ field }) => field);
  };
  assert.deepEqual(await fields('n'), ['involvedObject.namespace']);
  // Finalizers are only those of Kubernetes for kinds that look at them themselves.
  assert.deepEqual(await fields('default'), ['metadata.labels']);
});

test('a status write without metadata owns no metadata', async () => {
  const url = '/apis/storage.k8s.io/v1/volumeattachments';
  const spec = { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } };
  assert.equal((await api.call('POST', url, { body: { metadata: { name: 's' }, spec } })).status, 201);
  const body = { metadata: { labels: { a: 'b' } }, status: { attached: true } };
  const changed = await api.call('PATCH', `${url}/s/status`, { body });
  assert.deepEqual([changed.status, changed.at('metadata.labels')], [200, undefined]);
  assert.deepEqual(changed.at('metadata.managedFields.1.fieldsV1'), { 'f:status': { 'f:attached': {} } });
});
