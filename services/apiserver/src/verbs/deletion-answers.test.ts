import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

const CORE = '/api/v1/namespaces/default';
const STORAGE = '/apis/storage.k8s.io/v1';
const template = { spec: { containers: [{ name: 'c', image: 'i' }] } };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const attachment = { attacher: 'example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } };

const answers: readonly (readonly [kind: string, path: string, body: object])[] = [
  ['PodTemplate', `${CORE}/podtemplates`, { template }],
  ['ResourceQuota', `${CORE}/resourcequotas`, { spec: { hard: { pods: '1' } } }],
  ['Service', `${CORE}/services`, { spec: { ports: [{ port: 80 }] } }],
  ['ServiceAccount', `${CORE}/serviceaccounts`, {}],
  ['CSIDriver', `${STORAGE}/csidrivers`, { spec: {} }],
  ['CSINode', `${STORAGE}/csinodes`, { spec: { drivers: [] } }],
  ['StorageClass', `${STORAGE}/storageclasses`, { provisioner: 'example.com/p' }],
  ['VolumeAttachment', `${STORAGE}/volumeattachments`, { spec: attachment }],
  ['Status', `${CORE}/configmaps`, {}],
  ['Status', `${CORE}/secrets`, {}],
];
for (const [kind, path, body] of answers) {
  test(`the deletion of one of ${path} is answered with a ${kind}`, async () => {
    const created = await api.call('POST', path, { body: { ...body, metadata: { name: 'x' } } });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    for (const query of ['?dryRun=All', '']) {
      const answer = await api.call('DELETE', `${path}/x${query}`);
      assert.deepEqual([answer.status, answer.at('kind')], [200, kind]);
      assert.equal(answer.at(kind === 'Status' ? 'details.name' : 'metadata.name'), 'x');
    }
    assert.equal((await api.call('GET', `${path}/x`)).status, 404);
  });
}

test('a claim that is removed at once is returned by its deletion', async () => {
  const path = `${CORE}/persistentvolumeclaims`;
  await api.call('POST', path, { body: { metadata: { name: 'x' }, spec: claim } });
  await api.call('PATCH', `${path}/x`, {
    body: { metadata: { finalizers: null } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  const answer = await api.call('DELETE', `${path}/x`);
  assert.deepEqual([answer.status, answer.at('kind')], [200, 'PersistentVolumeClaim']);
  assert.equal((await api.call('GET', `${path}/x`)).status, 404);
});
