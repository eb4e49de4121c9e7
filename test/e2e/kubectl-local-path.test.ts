import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const dataDir = mkdtempSync(path.join(tmpdir(), 'holdfast-local-path-'));
const start = (): Promise<HoldfastProcess> => HoldfastProcess.start(['--nodes', '3'], dataDir);
let cluster: HoldfastProcess;
const { run, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await start();
});
after(async () => {
  await cluster[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const claim = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: claimSpec,
});

const podSpec = {
  terminationGracePeriodSeconds: 1,
  containers: [
    {
      name: 'main',
      image: 'busybox',
      command: ['sh', '-c', 'echo started >> /data/starts; exec sleep 3600'],
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    },
  ],
};

const onePerNode = { labelSelector: { matchLabels: { app: 'db' } }, topologyKey: 'kubernetes.io/hostname' };
const database = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: {
    serviceName: 'db',
    replicas: 3,
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: {
        ...podSpec,
        affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [onePerNode] } },
      },
    },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
  },
};

const startsOf = async (pod: string): Promise<number> =>
  (await run('exec', pod, '--', 'cat', '/data/starts')).split('\n').filter((line) => line === 'started').length;

/** The directories of volumes on all nodes of this machine: uids of PersistentVolumes. */
function directories(): readonly string[] {
  const nodes = path.join(dataDir, 'nodes');
  const folders = readdirSync(nodes).map((node) => path.join(nodes, node, 'volumes'));
  return folders.filter((folder) => existsSync(folder)).flatMap((folder) => readdirSync(folder));
}

const phase = (what: string): Promise<string> => run('get', what, '-o', 'jsonpath={.status.phase}');

test('a claim waits until its pod has a node', async () => {
  assert.match(
    await run('get', 'storageclass'),
    /^standard \(default\) +local-path\.holdfast\.io +Delete +WaitForFirst/m,
  );
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'nowhere' },
    spec: {
      ...podSpec,
      nodeSelector: { is: 'nowhere' },
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'waits' } }],
    },
  };
  await send(['create'], claim('waits'), pod);
  await waitFor('events say what both wait for', async () => {
    const events = await run('get', 'events');
    return (
      events.includes('waiting for first consumer to be created before binding') &&
      /FailedScheduling.*nowhere/.test(events)
    );
  });
  assert.equal(await phase('pvc/waits'), 'Pending');
  assert.deepEqual(directories(), []);
});

test('every pod of a StatefulSet has its own data on its node, which survive a restart of the pod and of the cluster', async () => {
  await send(['create'], database);
  await run('rollout', 'status', 'statefulset/db', '--timeout=60s');
  assert.equal(directories().length, 3);
  assert.match(
    await run('describe', 'pvc', 'data-db-0'),
    /ProvisioningSucceeded +.* Successfully provisioned volume pvc-/,
  );
  await run('delete', 'pod', 'db-0');
  await waitFor('the next pod has the data', async () => (await startsOf('db-0').catch(() => 0)) === 2);
  assert.equal(await startsOf('db-1'), 1, 'a volume of its own');
  await cluster.stop();
  cluster = await start();
  await waitFor('the pod started again with its data', async () => (await startsOf('db-0').catch(() => 0)) === 3);
  assert.equal(directories().length, 3);
});

test('the directory is removed with its claim, and stays with the policy Retain', async () => {
  const kept = await run('get', 'pvc', 'data-db-2', '-o', 'jsonpath={.spec.volumeName}');
  const uid = await run('get', 'pv', kept, '-o', 'jsonpath={.metadata.uid}');
  await run('patch', 'pv', kept, '-p', '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}');
  await run('delete', 'statefulset/db', '--cascade=foreground');
  await run('delete', 'pod/nowhere', 'pvc/waits', 'pvc/data-db-0', 'pvc/data-db-1', 'pvc/data-db-2');
  await waitFor('the other directories are gone', () => directories().join() === uid);
  await waitFor(
    'their volumes are gone',
    async () => (await run('get', 'pv', '-o', 'name')).trim() === `persistentvolume/${kept}`,
  );
  assert.equal(await phase(`pv/${kept}`), 'Released');
  await run('delete', 'pv', kept);
  assert.deepEqual(directories(), [uid], 'for the administrator');
});
