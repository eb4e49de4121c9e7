import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const CLASSES = '/apis/storage.k8s.io/v1/storageclasses';
const DEFAULT = 'storageclass.kubernetes.io/is-default-class';
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';

/** Servers of one cluster, one after the other. */
function createCluster() {
  const store = createMemoryStore();
  return async (run: (api: TestApi) => Promise<void>, defaultStorageClass = true): Promise<void> => {
    const api = await startTestApi({ store, defaultStorageClass });
    try {
      await run(api);
    } finally {
      await api.server.stop();
    }
  };
}

const namesOf = async (api: TestApi): Promise<readonly string[]> => (await api.call('GET', CLASSES)).names();

test('a new cluster has a default class, and a claim that names none gets it', async () => {
  const start = createCluster();
  await start(async (api) => {
    const made = await api.call('GET', `${CLASSES}/standard`);
    assert.equal(made.at('provisioner'), 'local-path.holdfast.io');
    assert.deepEqual([made.at('reclaimPolicy'), made.at('volumeBindingMode')], ['Delete', 'WaitForFirstConsumer']);
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const claim = await api.call('POST', CLAIMS, { body: { metadata: { name: 'c' }, spec } });
    assert.equal(claim.at('spec.storageClassName'), 'standard');
  });
});

test('a class that a user has deleted or changed is not restored', async () => {
  const start = createCluster();
  await start(async (api) => {
    const body = { metadata: { annotations: { [DEFAULT]: 'false' } } };
    assert.equal((await api.call('PATCH', `${CLASSES}/standard`, { body })).status, 200);
  });
  await start(async (api) => {
    const { body } = await api.call('GET', `${CLASSES}/standard`);
    assert.equal(
      (body as { metadata: { annotations: Record<string, string> } }).metadata.annotations[DEFAULT],
      'false',
    );
    assert.equal((await api.call('DELETE', `${CLASSES}/standard`)).status, 200);
  });
  await start(async (api) => assert.deepEqual(await namesOf(api), []));
});

test('with the setting off no class is created, and a default class of a user stays the only one', async () => {
  const start = createCluster();
  await start(async (api) => {
    assert.deepEqual(await namesOf(api), []);
    const metadata = { name: 'fast', annotations: { [DEFAULT]: 'true' } };
    const made = await api.call('POST', CLASSES, { body: { metadata, provisioner: 'csi.example.com' } });
    assert.equal(made.status, 201);
  }, false);
  await start(async (api) => assert.deepEqual(await namesOf(api), ['fast']));
  await start(async (api) => assert.equal((await api.call('DELETE', `${CLASSES}/fast`)).status, 200));
  await start(async (api) => assert.deepEqual(await namesOf(api), [], 'decided at the first start'));
});

test('several servers that start at once create one class', async () => {
  const store = createMemoryStore();
  const apis = await Promise.all([1, 2, 3].map(() => startTestApi({ store, defaultStorageClass: true })));
  for (const api of apis) assert.deepEqual(await namesOf(api), ['standard']);
  for (const api of apis) await api.server.stop();
});
