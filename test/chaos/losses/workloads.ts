import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type Container,
  DEPLOYMENTS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  SECRETS,
  STATEFUL_SETS,
  type StatefulSet,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { volumeKey } from '@holdfast/client/storage-server';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { HEARTBEAT_COMMAND } from '../support/heartbeats.ts';
import { docker, dockerBytes } from './faults.ts';
import { parseRecords, parseSigns, type Sign } from './signs.ts';

const NAMESPACE = 'default';
/** `db` has volumes of the storage server, `kv` has none. */
const SETS = ['db', 'kv'] as const;
const REPLICAS = 3;
const WEB_REPLICAS = 4;
export const IDENTITIES: readonly string[] = SETS.flatMap((set) =>
  Array.from({ length: REPLICAS }, (_, index) => `${set}-${index}`),
);
const PROGRAM = 'heartbeat-main.ts';
export const PROGRAM_COMMAND: readonly string[] = ['node', `/shared/${PROGRAM}`];

export const volumeOf = (identity: string): string => `data-${identity}`;

/** Two StatefulSets whose processes say that they live, one of them in volumes, and a Deployment beside them. */
export async function createIdentities(cluster: ComposeCluster): Promise<void> {
  const { admin } = cluster;
  await prepareProgram(cluster, IDENTITIES);
  await createVolumes(
    cluster,
    IDENTITIES.filter((name) => name.startsWith('db-')),
  );
  for (const set of SETS) await admin.create(STATEFUL_SETS, statefulSet(set));
  const selector = { matchLabels: { app: 'web' } };
  await admin.create(DEPLOYMENTS, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { replicas: WEB_REPLICAS, selector, template: templateOf('web', HEARTBEAT_COMMAND), strategy: {} },
    status: {},
  });
}

/** Puts the program of the identities into the shared folder, and a file for the signs of each. */
export async function prepareProgram(cluster: ComposeCluster, identities: readonly string[]): Promise<void> {
  const program = path.join(cluster.sharedFolder, PROGRAM);
  await copyFile(path.join(import.meta.dirname, PROGRAM), program);
  await chmod(program, 0o644);
  await prepareSigns(cluster, identities);
}

/** An empty file for the signs of each identity. */
export async function prepareSigns({ sharedFolder }: ComposeCluster, identities: readonly string[]): Promise<void> {
  for (const identity of identities) {
    const file = path.join(sharedFolder, `${identity}.log`);
    await writeFile(file, '');
    // Each pod has a user of its own.
    await chmod(file, 0o666);
  }
}

/** Volumes of the storage server, each for the claim of one identity. */
export async function createVolumes(cluster: ComposeCluster, identities: readonly string[]): Promise<void> {
  const storage = cluster.containerOf('storage');
  const masterKey = await docker('exec', storage, 'cat', '/etc/holdfast/master.key');
  const ca = await docker('exec', storage, 'cat', '/etc/holdfast/ca.crt');
  const stored = new Set((await cluster.admin.list(PERSISTENT_VOLUMES)).items.map(({ metadata }) => metadata.name));
  for (const identity of identities)
    if (!stored.has(volumeOf(identity))) await createVolume(cluster.admin, identity, { masterKey, ca });
}

async function createVolume(
  admin: ApiClient,
  identity: string,
  { masterKey, ca }: { readonly masterKey: string; readonly ca: string },
): Promise<void> {
  const name = volumeOf(identity);
  const data = { key: base64(volumeKey(masterKey, name)), 'ca.crt': base64(ca) };
  await admin.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, data });
  await admin.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { namespace: NAMESPACE, name },
      csi: {
        driver: 'storage.holdfast.io',
        volumeHandle: name,
        volumeAttributes: { server: 'storage:9440' },
        nodePublishSecretRef: { namespace: NAMESPACE, name },
      },
    },
    status: {},
  });
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function statefulSet(set: (typeof SETS)[number]): StatefulSet {
  const selector = { matchLabels: { app: set } };
  const base = { replicas: REPLICAS, serviceName: set, selector, updateStrategy: {} };
  const mounts = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: set, namespace: NAMESPACE },
    spec:
      set === 'db'
        ? { ...base, template: templateOf(set, PROGRAM_COMMAND, mounts), volumeClaimTemplates: [claimOf('data')] }
        : { ...base, template: templateOf(set, BEATS) },
    status: { replicas: 0 },
  };
}

/** A claim for one of the volumes that there are. */
export const claimOf = (name: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
  status: {},
});

/** `$$` is `$` after Kubernetes expanded the command. */
export const BEATS: readonly string[] = [
  'sh',
  '-c',
  [
    'say() { echo "$$(date +%s%3N) $POD_NAME $POD_UID $NODE_NAME $$$$ beat -" >> "/shared/$POD_NAME.log"; }',
    'while true; do say; sleep 0.2; done',
  ].join('\n'),
];

export function templateOf(
  app: string,
  command: readonly string[],
  more: Partial<Container> = {},
): StatefulSet['spec']['template'] {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const env = [
    field('POD_NAME', 'metadata.name'),
    field('POD_UID', 'metadata.uid'),
    field('NODE_NAME', 'spec.nodeName'),
  ];
  const container = { name: 'main', image: 'heartbeat', command: [...command], env, resources: {}, ...more };
  return { metadata: { labels: { app } }, spec: { terminationGracePeriodSeconds: 5, containers: [container] } };
}

/** The pods that run as identities, by name. */
export async function runningIdentities(admin: ApiClient): Promise<ReadonlyMap<string, Pod>> {
  const { items } = await admin.list(PODS, { namespace: NAMESPACE, labelSelector: `app in (${SETS.join(',')})` });
  const running = items.filter(
    ({ metadata, status }) => status.phase === 'Running' && metadata.deletionTimestamp === undefined,
  );
  return new Map(running.map((pod) => [pod.metadata.name ?? '', pod]));
}

export async function signsOf(cluster: ComposeCluster, identity: string): Promise<readonly Sign[]> {
  return parseSigns(await readFile(path.join(cluster.sharedFolder, `${identity}.log`), 'utf8'));
}

/** The writer of each record; undefined for an identity without a volume. */
export async function recordsOf(cluster: ComposeCluster, identity: string): Promise<readonly string[] | undefined> {
  if (!identity.startsWith('db-')) return undefined;
  const file = `/data/volumes/${volumeOf(identity)}`;
  return parseRecords(await dockerBytes('exec', cluster.containerOf('storage'), 'cat', file));
}
