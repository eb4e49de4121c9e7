import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PERSISTENT_VOLUMES, STATEFUL_SETS, type StatefulSet } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { findOnPath } from '../../../tools/setup/packages.ts';
import { claimOf, prepareSigns, templateOf, volumeOf } from '../losses/workloads.ts';
import { ALL_NODES, type ComposeCluster } from '../support/compose-cluster.ts';

const NAMESPACE = 'default';
const NAME = 'database';
const SIZE = 3;
const ORDINALS: readonly number[] = Array.from({ length: SIZE }, (_, ordinal) => ordinal);
export const MEMBERS: readonly string[] = ORDINALS.map((ordinal) => `${NAME}-${ordinal}`);

const PROGRAM = 'nats-server-next';
/** Members may share a node, and pods of the compose form have the ports of their node: each ordinal has its own. */
export const CLIENT_PORTS: readonly number[] = ORDINALS.map((ordinal) => 4222 + ordinal);
const ROUTE_PORTS: readonly number[] = ORDINALS.map((ordinal) => 6222 + ordinal);
const MONITOR_PORT = 8222;
/** More than a server needs to end. */
const GRACE_SECONDS = 10;
const READ_BY_ALL = 0o644;
const RUN_BY_ALL = 0o755;
/** Each pod has a user of its own. */
const WRITTEN_BY_ALL = 0o777;

/** A StatefulSet whose pods are the servers of one NATS cluster. They begin without data. */
export async function createMembers(cluster: ComposeCluster): Promise<void> {
  await prepareSigns(cluster, MEMBERS);
  await prepareFolder(cluster);
  const stored = new Set((await cluster.admin.list(PERSISTENT_VOLUMES)).items.map(({ metadata }) => metadata.name));
  for (const member of MEMBERS) if (!stored.has(volumeOf(member))) await createVolume(cluster.admin, member);
  await cluster.admin.create(STATEFUL_SETS, statefulSet());
}

/** The program, and the settings and the data of each member. */
async function prepareFolder({ sharedFolder }: ComposeCluster): Promise<void> {
  const program = findOnPath(PROGRAM);
  if (program === undefined) throw new Error(`${PROGRAM} is not on the PATH`);
  const folder = path.join(sharedFolder, NAME);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await chmod(folder, RUN_BY_ALL);
  await copyFile(program, path.join(folder, PROGRAM));
  await chmod(path.join(folder, PROGRAM), RUN_BY_ALL);
  for (const ordinal of ORDINALS) {
    const settings = path.join(folder, `${NAME}-${ordinal}.conf`);
    await writeFile(settings, JSON.stringify(settingsOf(ordinal)));
    await chmod(settings, READ_BY_ALL);
    const data = path.join(folder, volumeOf(`${NAME}-${ordinal}`));
    await mkdir(data);
    await chmod(data, WRITTEN_BY_ALL);
  }
}

function settingsOf(ordinal: number): object {
  return {
    server_name: `${NAME}-${ordinal}`,
    port: CLIENT_PORTS[ordinal],
    http: `0.0.0.0:${MONITOR_PORT + ordinal}`,
    // A member that lost its network is found to be gone in seconds, not in minutes.
    ping_interval: '2s',
    ping_max: 2,
    jetstream: { store_dir: pathOf(`${NAME}-${ordinal}`), sync_interval: 'always' },
    cluster: {
      name: NAME,
      port: ROUTE_PORTS[ordinal],
      // A member may run anywhere: each attempt goes to another address of the name. The servers take the number of
      // routes for the number of members, so there is one for each member, and not one for each node as well.
      routes: ROUTE_PORTS.map((port) => `nats-route://${ALL_NODES}:${port}`),
    },
  };
}

/** Where every node sees the data of a member: what a network file system is elsewhere. */
const pathOf = (member: string): string => `/shared/${NAME}/${volumeOf(member)}`;

async function createVolume(admin: ApiClient, member: string): Promise<void> {
  const name = volumeOf(member);
  await admin.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { namespace: NAMESPACE, name },
      hostPath: { path: pathOf(member), type: 'Directory' },
    },
    status: {},
  });
}

function statefulSet(): StatefulSet {
  const selector = { matchLabels: { app: NAME } };
  const { metadata, spec } = templateOf(NAME, RUN);
  const spread = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    // A member whose node is lost has to run beside another one.
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: selector,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: {
      replicas: SIZE,
      serviceName: NAME,
      selector,
      // The first one does not answer before there are two.
      podManagementPolicy: 'Parallel',
      template: {
        metadata,
        spec: {
          ...spec,
          containers: spec?.containers ?? [],
          terminationGracePeriodSeconds: GRACE_SECONDS,
          topologySpreadConstraints: [spread],
        },
      },
      // Nodes of the compose form cannot mount: the server finds the directory of its claim by its path.
      volumeClaimTemplates: [claimOf('data')],
      updateStrategy: {},
    },
    status: { replicas: 0 },
  };
}

/**
 * The server, and beside it signs of life for as long as it lives, under its process id. Told to end, it passes that on.
 * `$$` is `$` after Kubernetes expanded the command.
 */
const RUN: readonly string[] = [
  'sh',
  '-c',
  [
    `say() { echo "$$(date +%s%3N) $POD_NAME $POD_UID $NODE_NAME $server $1 -" >> "/shared/$POD_NAME.log"; }`,
    `/shared/${NAME}/${PROGRAM} --config "/shared/${NAME}/$POD_NAME.conf" & server=$!`,
    `trap 'say stopping; kill -TERM $server' TERM`,
    'while kill -0 $server 2>/dev/null; do say beat; sleep 0.2; done',
    'say stopped',
  ].join('\n'),
];
