import { NO_NODE_INFO, NODES, type Node, PODS, type Pod, type PodSpec } from '@holdfast/api';
import { createApiServer } from '@holdfast/apiserver';
import { type ApiClient, type ApiHandler, createApiClient, createDirectTransport } from '@holdfast/client';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { createScheduler, type Scheduler } from '@holdfast/scheduler';
import { createMemoryStore } from '@holdfast/store/memory';

const USERS = new Map([
  ['admin', { name: 'admin', groups: ['system:masters', 'system:authenticated'] }],
  ['scheduler', { name: 'system:kube-scheduler', groups: ['system:authenticated'] }],
  ['node-n1', { name: 'system:node:n1', uid: 'n1', groups: ['system:nodes', 'system:authenticated'] }],
]);

export interface SchedulerCluster extends AsyncDisposable {
  readonly handle: ApiHandler;
  readonly admin: ApiClient;
  /** With the permissions of the token's user. */
  readonly clientOf: (token: 'admin' | 'scheduler') => ApiClient;
  readonly schedulers: readonly Scheduler[];
}

/** An API server and schedulers that work through it with the rights of a scheduler. */
export async function startSchedulerCluster(schedulers = 1): Promise<SchedulerCluster> {
  const clock = createSystemClock();
  const store = createMemoryStore();
  const machineOf = (name: string) => {
    const random = createSeededRandom(7, name);
    return { clock, random, ids: createIds(random), log: createSilentLog() };
  };
  const server = createApiServer({ ...machineOf('apiserver'), store, tokens: USERS });
  const transport = createDirectTransport(server.handle);
  const clientOf = (token: string): ApiClient => createApiClient({ transport, token, userAgent: `test/${token}` });
  const running = Array.from({ length: schedulers }, (_, i) =>
    createScheduler({ ...machineOf(`scheduler-${i}`), client: clientOf('scheduler') }),
  );
  for (const service of [server, ...running]) await service.start();
  return {
    handle: server.handle,
    admin: clientOf('admin'),
    clientOf,
    schedulers: running,
    [Symbol.asyncDispose]: async () => {
      for (const service of [...running, server]) await service.stop();
      await store.close();
    },
  };
}

/** A node that is ready, without a kubelet. */
export async function addNode(
  admin: ApiClient,
  name: string,
  { cpu = '4', labels = {} }: { readonly cpu?: string; readonly labels?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const hostname = { 'kubernetes.io/hostname': name };
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { ...hostname, ...labels } },
    spec: {},
    status: {
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { ...NO_NODE_INFO, architecture: 'amd64', operatingSystem: 'linux' },
    },
  };
  const created = await admin.create(NODES, node);
  const allocatable = { cpu, memory: '8Gi', pods: '110' };
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }];
  await admin.updateStatus(NODES, {
    ...created,
    status: { ...created.status, capacity: allocatable, allocatable, conditions },
  });
  await clearTaints(admin, name);
}

/** Acts as the node controller for a ready node. */
export async function clearTaints(admin: ApiClient, name: string): Promise<void> {
  await admin.patch(NODES, { name }, { type: 'merge', body: { spec: { taints: null } } });
}

export function podOf(name: string, spec: Partial<PodSpec> = {}, labels: Readonly<Record<string, string>> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { ...labels } },
    spec: { containers: containers({ cpu: '1' }), ...spec },
    status: {},
  };
}

export function containers(
  requests: Readonly<Record<string, string>>,
  command: string[] = ['stay'],
): PodSpec['containers'] {
  return [{ name: 'main', image: 'busybox:1.36', command, resources: { requests: { ...requests } } }];
}

export const addPod = (admin: ApiClient, pod: Pod): Promise<Pod> => admin.create(PODS, pod);
