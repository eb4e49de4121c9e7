import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  type Pod,
  SECRETS,
  STATEFUL_SETS,
} from '@holdfast/api';
import { VolumeConnection, volumeKey, volumeProof } from '@holdfast/client/storage-server';
import { createProcessRuntime, type ProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createMemoryBackend, createStorageServer, type StorageServer } from '@holdfast/storage-server';
import { startWholeCluster, type WholeCluster } from '../support/whole-cluster.ts';

const clock = createSystemClock();
const log = createSilentLog();
const NODE_NAMES = ['n1', 'n2'];
const MASTER_KEY = 'a master key that is long enough for a test';
const WORD_CHARS = 8;

/** Opens the volume with its ticket and writes the start of the pod's uid for ever, whatever the answers are. */
const HEARTBEATS = `
cd /volume
address=$(cat server)
exec 3<>"/dev/tcp/\${address%:*}/\${address##*:}"
printf 'open %s %s %s\\n' "$(cat volume)" "$(cat token)" "$(cat proof)" >&3
while read -r answer <&3; do
  sleep 0.1
  printf 'write 0 ${WORD_CHARS}\\n%s' "\${POD_UID:0:${WORD_CHARS}}" >&3
done`;

async function serveVolumes(t: TestContext): Promise<StorageServer> {
  const server = createStorageServer({
    host: '127.0.0.1',
    port: 0,
    masterKey: MASTER_KEY,
    connectionsMax: 10,
    volumesMax: 10,
    volumeBytesMax: 1_024,
    backend: createMemoryBackend(),
    clock,
    log,
  });
  await server.start();
  t.after(() => server.stop());
  return server;
}

/** Nodes that run processes and promise nothing: one that is cut off goes on. */
async function startNodes(t: TestContext): Promise<WholeCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-storage-server-'));
  const runtimes: ProcessRuntime[] = [];
  const runtimeOf = (name: string): ProcessRuntime => {
    const stateDirectory = join(directory, name);
    const runtime = createProcessRuntime({ stateDirectory, clock, log, nodeAddress: () => '192.0.2.7' });
    runtimes.push(runtime);
    return runtime;
  };
  const cluster = await startWholeCluster(Object.fromEntries(NODE_NAMES.map((name) => [name, {}])), { runtimeOf });
  t.after(async () => {
    await cluster[Symbol.asyncDispose]();
    await Promise.all(runtimes.map((runtime) => runtime.shutdown(0)));
    rmSync(directory, { recursive: true, force: true });
  });
  return cluster;
}

async function createPet({ admin }: WholeCluster, server: StorageServer): Promise<void> {
  const key = Buffer.from(volumeKey(MASTER_KEY, 'data')).toString('base64');
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'data-key', namespace: 'default' } };
  await admin.create(SECRETS, { ...secret, data: { key } });
  await admin.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'data' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      csi: {
        driver: 'storage.holdfast.io',
        volumeHandle: 'data',
        volumeAttributes: { server: `127.0.0.1:${server.port()}` },
        nodePublishSecretRef: { namespace: 'default', name: 'data-key' },
      },
    },
    status: {},
  });
  await admin.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
    status: {},
  });
  const env = [{ name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }];
  const command = ['/bin/bash', '-c', HEARTBEATS.replaceAll('$(', () => '$$(')];
  const volumeMounts = [{ name: 'data', mountPath: '/volume' }];
  const container = { name: 'main', image: 'bash', command, env, volumeMounts, resources: {} };
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas: 1,
      serviceName: 'db',
      updateStrategy: {},
      selector: { matchLabels: { app: 'db' } },
      template: { metadata: { labels: { app: 'db' } }, spec: { containers: [container], volumes } },
    },
    status: { replicas: 0 },
  });
}

const volumeOf = ({ admin }: WholeCluster): Promise<PersistentVolume> =>
  admin.get(PERSISTENT_VOLUMES, { name: 'data' });

async function runningPet({ admin }: WholeCluster): Promise<Pod | undefined> {
  const pod = await admin.find(PODS, { namespace: 'default', name: 'db-0' });
  return pod?.status.phase === 'Running' && pod.metadata.deletionTimestamp === undefined ? pod : undefined;
}

const wordOf = ({ metadata }: Pod): string => (metadata.uid ?? '').slice(0, WORD_CHARS);

/** What is in the volume, read with the token of its last attachment. */
async function wordIn(cluster: WholeCluster, server: StorageServer): Promise<string> {
  const { fencingToken: token = 0 } = (await volumeOf(cluster)).status;
  const proof = volumeProof(volumeKey(MASTER_KEY, 'data'), 'data', token);
  const ticket = { server: `127.0.0.1:${server.port()}`, volume: 'data', token, proof };
  const connection = await VolumeConnection.open(ticket, clock);
  try {
    return (await connection.read(0, WORD_CHARS)).toString();
  } finally {
    connection.close();
  }
}

const refusedWrites = (server: StorageServer): number =>
  Number(/operation="write",result="stale"\} (\d+)/.exec(server.metrics())?.[1] ?? 0);

/** An administrator believes that the machine is dead. */
async function giveUp(cluster: WholeCluster, lost: string): Promise<void> {
  const { admin } = cluster;
  await admin.delete(PODS, { namespace: 'default', name: 'db-0' }, { gracePeriodSeconds: 0 });
  await eventually(async () => {
    const { metadata, status } = await volumeOf(cluster);
    if (status.attachment?.nodeName !== lost) return true;
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: { attachment: null } };
    // The controller may have written in between.
    await admin
      .patch(PERSISTENT_VOLUMES, { name: 'data' }, { type: 'merge', body, subresource: 'status' })
      .catch(() => {});
    return false;
  }, 'the attachment is broken');
}

test('[RWO-22] [SAFE-22] a pod that keeps writing after its node was fenced is refused by the storage, and the data are those of its replacement', async (t) => {
  const server = await serveVolumes(t);
  const cluster = await startNodes(t);
  await createPet(cluster, server);
  const old = await eventually(() => runningPet(cluster), 'the pet runs');
  await eventually(async () => (await wordIn(cluster, server)) === wordOf(old), 'the first pod has written');
  const { fencingToken: before = 0 } = (await volumeOf(cluster)).status;
  const lost = old.spec.nodeName ?? '';
  await cluster.admin.patch(NODES, { name: lost }, { type: 'merge', body: { spec: { unschedulable: true } } });
  cluster.nodes[lost]?.cut(true);
  await giveUp(cluster, lost);
  const next = await eventually(async () => {
    const pet = await runningPet(cluster);
    return pet?.metadata.uid === old.metadata.uid ? undefined : pet;
  }, 'the pet runs elsewhere');
  assert.notEqual(next.spec.nodeName, lost);
  assert.ok(((await volumeOf(cluster)).status.fencingToken ?? 0) > before, 'with a greater token');
  await eventually(async () => (await wordIn(cluster, server)) === wordOf(next), 'the second pod has written');
  const refused = refusedWrites(server);
  await eventually(() => refusedWrites(server) >= refused + 3, 'the first pod goes on writing, and is refused');
  assert.equal(await wordIn(cluster, server), wordOf(next));
  cluster.nodes[lost]?.cut(false);
  await eventually(async () => {
    const { status } = await cluster.admin.get(NODES, { name: lost });
    return (status.volumesInUse ?? []).length === 0;
  }, 'the node that is back has ended the first pod');
  assert.equal(await wordIn(cluster, server), wordOf(next));
  assert.deepEqual(cluster.forbidden, []);
});
