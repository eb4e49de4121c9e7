import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, send, follow } = createKubectl(() => cluster.ready.kubeconfig);
const disk = mkdtempSync(path.join(tmpdir(), 'holdfast-claims-'));

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
});
after(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(disk, { recursive: true, force: true });
});

const volume = (name: string, storage: string, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], hostPath: { path: disk }, ...spec },
});
const claim = (name: string, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '', ...spec },
});
const pod = (name: string, command: string, source: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image: 'busybox',
        command: ['sh', '-c', command],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', ...source }],
  },
});
const phase = (what: string): Promise<string> => run('get', what, '-o', 'jsonpath={.status.phase}');
const becomes = (what: string, wanted: string): Promise<unknown> =>
  waitFor(`${what} ${wanted}`, async () => (await phase(what)) === wanted);

test('a claim is bound to the smallest suitable volume, a pod uses it, and neither is removed while in use', async () => {
  await send(['create'], volume('large', '20Gi'), volume('small', '2Gi'));
  await becomes('pv/large', 'Available');
  await becomes('pv/small', 'Available');
  await send(['create'], claim('data'), pod('writer', 'sleep 3600', using('data')));
  await becomes('pvc/data', 'Bound');
  assert.match(await run('get', 'pvc', 'data'), /^data +Bound +small +2Gi +RWO /m);
  assert.match(await run('get', 'pv', 'small'), /^small +2Gi +RWO +Retain +Bound +default\/data /m);
  assert.match(await run('get', 'pv', 'large'), /^large +20Gi +RWO +Retain +Available /m);
  await run('wait', 'pod/writer', '--for=condition=Ready', '--timeout=30s');
  await using deletion = follow('delete', 'pvc', 'data');
  await waitFor('the claim is on its way out', async () => /^data +Terminating /m.test(await run('get', 'pvc')));
  assert.equal(await phase('pv/small'), 'Bound');
  await run('delete', 'pod', 'writer');
  await waitFor('the claim is gone', async () => !(await run('get', 'pvc', '-o', 'name')).includes('data'));
  await waitFor('kubectl heard of it', () => deletion.printed.includes('deleted'));
  await becomes('pv/small', 'Released');
});

const using = (claimName: string): object => ({ persistentVolumeClaim: { claimName } });

test('a reserved volume waits for its claim, and a claim that names a volume waits for that volume', async () => {
  await send(['create'], volume('mine', '5Gi', { claimRef: { name: 'reserved', namespace: 'default' } }));
  await becomes('pv/mine', 'Available');
  await send(['create'], claim('reserved'), claim('named', { volumeName: 'large' }));
  await becomes('pvc/reserved', 'Bound');
  await becomes('pvc/named', 'Bound');
  const volumes = await run('get', 'pvc', '-o', 'jsonpath={range .items[*]}{.metadata.name}={.spec.volumeName} {end}');
  assert.match(volumes, /named=large .*reserved=mine/);
});

test('a WaitForFirstConsumer claim is bound to a volume of the node that the scheduler selects for its pod', async () => {
  const waits = { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' };
  await send(['create'], {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'local' },
    ...waits,
  });
  const terms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node-1'] }] }];
  const nodeAffinity = { required: { nodeSelectorTerms: terms } };
  const spec = { storageClassName: 'local', hostPath: undefined, local: { path: disk }, nodeAffinity };
  await send(['create'], volume('on-node-1', '3Gi', spec));
  await send(['create'], claim('late', { storageClassName: 'local' }));
  await waitFor('it is told what it waits for', async () =>
    (await run('describe', 'pvc', 'late')).includes('waiting for first consumer to be created before binding'),
  );
  assert.equal(await phase('pvc/late'), 'Pending');
  await send(['create'], pod('consumer', 'sleep 3600', using('late')));
  await run('wait', 'pod/consumer', '--for=condition=Ready', '--timeout=30s');
  assert.match(await run('get', 'pvc', 'late'), /^late +Bound +on-node-1 /m);
  await run('delete', 'pod', 'consumer');
});

test('an ephemeral claim is created and deleted with its pod', async () => {
  await send(['create'], volume('scratch-disk', '2Gi', { storageClassName: 'scratch' }));
  const template = { storageClassName: 'scratch', accessModes: ['ReadWriteOnce'] };
  const spec = { ...template, resources: { requests: { storage: '1Gi' } } };
  await send(['create'], pod('user', 'sleep 3600', { ephemeral: { volumeClaimTemplate: { spec } } }));
  await run('wait', 'pod/user', '--for=condition=Ready', '--timeout=30s');
  assert.match(await run('get', 'pvc', 'user-data'), /^user-data +Bound +scratch-disk /m);
  await run('delete', 'pod', 'user');
  await waitFor('the claim is gone', async () => !(await run('get', 'pvc', '-o', 'name')).includes('user-data'));
  await becomes('pv/scratch-disk', 'Released');
});

test('a volume without a deleter reports it, and its data stay', async () => {
  await send(['create'], volume('doomed', '9Gi', { persistentVolumeReclaimPolicy: 'Delete', storageClassName: 'old' }));
  await send(['create'], claim('short', { storageClassName: 'old' }));
  await becomes('pvc/short', 'Bound');
  await run('delete', 'pvc', 'short');
  await becomes('pv/doomed', 'Failed');
  assert.match(await run('describe', 'pv', 'doomed'), /no deletable volume plugin matched/);
  await run('delete', 'pv', 'doomed');
});
