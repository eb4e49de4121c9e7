import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LOCAL_PATH_FINALIZER, LOCAL_PATH_NODE_LABEL, LOCAL_PATH_PROVISIONER } from '@holdfast/api';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const VOLUMES = '/api/v1/persistentvolumes';
const OTHER = 'example.com/backup';
const selecting = (text: string): string => `${VOLUMES}?labelSelector=${encodeURIComponent(text)}`;
const OF_A = selecting(`${LOCAL_PATH_NODE_LABEL}=a`);

const volumeOf = (name: string, node: string, spec: object = {}): object => ({
  metadata: { name, labels: { [LOCAL_PATH_NODE_LABEL]: node }, finalizers: [OTHER, LOCAL_PATH_FINALIZER] },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    persistentVolumeReclaimPolicy: 'Delete',
    csi: { driver: LOCAL_PATH_PROVISIONER, volumeHandle: name, volumeAttributes: { node } },
    ...spec,
  },
});

async function start(t: TestContext, ...volumes: readonly object[]): Promise<TestApi> {
  const api = await startTestApi();
  t.after(() => api.stop());
  for (const body of volumes) {
    const made = await api.call('POST', VOLUMES, { body });
    assert.equal(made.status, 201, made.textAt('message'));
  }
  return api;
}

test('a kubelet watches the local-path volumes of its node and no others', async (t) => {
  const api = await start(t, volumeOf('of-a', 'a'), volumeOf('of-b', 'b'));
  const as = 'node-a';
  assert.deepEqual((await api.call('GET', OF_A, { as })).names(), ['of-a']);
  assert.equal((await api.watch(`${OF_A}&watch=1&resourceVersion=0`, 1, { as })).length, 1);
  for (const [url, status] of [
    [`${VOLUMES}/of-a`, 200],
    [`${VOLUMES}/of-b`, 403],
    [VOLUMES, 403],
    [selecting(`${LOCAL_PATH_NODE_LABEL}=b`), 403],
    [selecting(LOCAL_PATH_NODE_LABEL), 403],
    [selecting(`${LOCAL_PATH_NODE_LABEL} in (a,b)`), 403],
    [selecting('app=a'), 403],
  ] as const)
    assert.equal((await api.call('GET', url, { as })).status, status, url);
});

type Stored = { metadata: { finalizers: string[]; labels: object }; spec: object };

test('a kubelet removes its finalizer from a volume of its node that is being deleted, and changes nothing else', async (t) => {
  const api = await start(t, volumeOf('of-a', 'a'), volumeOf('kept', 'a', { persistentVolumeReclaimPolicy: 'Retain' }));
  const put = async (as: string, name: string, change: (volume: Stored) => void): Promise<readonly unknown[]> => {
    const { body } = await api.call('GET', `${VOLUMES}/${name}`);
    const volume = structuredClone(body) as Stored;
    change(volume);
    const answer = await api.call('PUT', `${VOLUMES}/${name}`, { as, body: volume });
    return [answer.status, answer.textAt('message')];
  };
  const give = (volume: Stored): void => {
    volume.metadata.finalizers = volume.metadata.finalizers.filter((each) => each !== LOCAL_PATH_FINALIZER);
  };
  const refused = /"a" can only remove its finalizer from a volume that is being deleted/;
  assert.match(String((await put('node-a', 'of-a', give))[1]), refused, 'it is not being deleted');
  for (const name of ['of-a', 'kept']) await api.call('DELETE', `${VOLUMES}/${name}`);
  assert.match(String((await put('node-a', 'kept', give))[1]), refused, 'its data are kept');
  assert.equal((await put('node-b', 'of-a', give))[0], 403, 'another node');
  const acts: readonly ((volume: Stored) => void)[] = [
    () => {},
    (volume) => void (volume.metadata.finalizers = []),
    (volume) => void (volume.metadata.finalizers = [LOCAL_PATH_FINALIZER]),
    (volume) => {
      give(volume);
      volume.metadata.labels = {};
    },
    (volume) => {
      give(volume);
      volume.spec = { ...volume.spec, capacity: { storage: '9Gi' } };
    },
  ];
  for (const act of acts) assert.match(String((await put('node-a', 'of-a', act))[1]), refused);
  for (const [verb, url] of [
    ['DELETE', `${VOLUMES}/of-a`],
    ['PATCH', `${VOLUMES}/of-a`],
    ['PATCH', `${VOLUMES}/of-a/status`],
    ['POST', VOLUMES],
  ] as const)
    assert.equal(
      (await api.call(verb, url, { as: 'node-a', body: volumeOf('new', 'a') })).status,
      403,
      `${verb} ${url}`,
    );
  assert.deepEqual(await put('node-a', 'of-a', give), [200, '']);
  const left = (await api.call('GET', `${VOLUMES}/of-a`)).at('metadata.finalizers') as readonly string[];
  assert.ok(left.includes(OTHER) && !left.includes(LOCAL_PATH_FINALIZER));
});
