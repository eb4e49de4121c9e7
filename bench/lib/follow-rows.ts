import {
  createIds,
  createSeededRandom,
  createSilentLog,
  createSystemClock,
  nextTurn,
  type Service,
} from '@holdfast/platform';
import { NODES } from '../../libs/api/src/index.ts';
import type { Bus } from '../../libs/bus/src/index.ts';
import { createLocalBus } from '../../libs/bus/src/local/index.ts';
import { type ApiClient, createApiClient, createDirectTransport } from '../../libs/client/src/index.ts';
import { createMemoryStore } from '../../libs/store/src/memory/index.ts';
import { type ApiServer, createApiServer } from '../../services/apiserver/src/index.ts';
import { createRelay } from '../../services/apiserver/src/relay/index.ts';
import { createControllerManager } from '../../services/controller-manager/src/index.ts';
import { createScheduler } from '../../services/scheduler/src/index.ts';
import { percentile } from './figures.ts';
import { schedulingNode, schedulingPod } from './scheduling-objects.ts';

/** The followers: none, the relay with the in-process bus, and behind it the scheduler, the controllers, or both. */
export const FOLLOWERS = ['nobody', 'bus', 'scheduler', 'controllers', 'embedded'] as const;
export type Followers = (typeof FOLLOWERS)[number];

/** ConfigMap: one create. Pod: a create, and a binding by a client other than the scheduler. Lease: one create. */
export const FOLLOW_ROWS = ['ConfigMap', 'Pod', 'Lease'] as const;

export interface FollowRow {
  readonly row: string;
  /** CPU time of the thread per object: the lowest of several rounds. */
  readonly us: number;
  readonly note: string;
}

const NAMESPACE = 'default';
const NODE_COUNT = 20;
/** Before anything is measured: the engine compiles what is used often. */
const WARM_UP = 2_000;
const ROUNDS = 7;
const WRITERS = 8;
/** Followers are at rest again. */
const REST_MS = 500;
const AUTHENTICATED = 'system:authenticated';
const ACCOUNT = 'system:serviceaccount:kube-system:pod-garbage-collector';
const USERS = new Map([
  ['admin', { name: 'admin', groups: ['system:masters', AUTHENTICATED] }],
  ['manager', { name: 'system:kube-controller-manager', groups: [AUTHENTICATED] }],
  ['scheduler', { name: 'system:kube-scheduler', groups: [AUTHENTICATED] }],
  ['podGc', { name: ACCOUNT, groups: ['system:serviceaccounts', AUTHENTICATED] }],
]);

const clock = createSystemClock();

export async function followRows(
  followers: Followers,
  { rows, changes }: { readonly rows: readonly string[]; readonly changes: number },
): Promise<readonly FollowRow[]> {
  await using cluster = await start(followers);
  const admin = clientOf(cluster.apiServer, 'admin');
  for (let i = 0; i < NODE_COUNT; i++) await admin.create(NODES, schedulingNode(i));
  const chosen = Object.entries(stepsOf(cluster.apiServer)).filter(([row]) => rows.includes(row));
  let first = 0;
  for (const [, step] of chosen) await run({ first, count: WARM_UP, step });
  first += WARM_UP;
  const measured = new Map<string, number[]>(chosen.map(([row]) => [row, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [row, step] of chosen) measured.get(row)?.push(await run({ first, count: changes, step }));
    first += changes;
  }
  return [...measured].map(([row, all]) => rowOf(row, all));
}

/** The lowest is what the machine's other users disturbed least. */
function rowOf(row: string, all: readonly number[]): FollowRow {
  const sorted = all.toSorted((a, b) => a - b);
  const note = `middle ${percentile(sorted, 0.5).toFixed(0)}, highest ${sorted.at(-1)?.toFixed(0)}`;
  return { row, us: sorted[0] ?? Number.NaN, note };
}

type Step = (index: number) => Promise<unknown>;

/** As from an external client: text in, bytes out, and no parsed response. */
const stepsOf = (apiServer: ApiServer): Readonly<Record<(typeof FOLLOW_ROWS)[number], Step>> => {
  const post = posting(apiServer);
  const inDefault = `namespaces/${NAMESPACE}`;
  return {
    ConfigMap: (i) => post(`/api/v1/${inDefault}/configmaps`, configMap(i)),
    Pod: async (i) => {
      const pod = podForOthers(i);
      await post(`/api/v1/${inDefault}/pods`, pod);
      await post(`/api/v1/${inDefault}/pods/${pod.metadata.name}/binding`, binding(i, pod.metadata.name ?? ''));
    },
    Lease: (i) => post(`/apis/coordination.k8s.io/v1/${inDefault}/leases`, lease(i)),
  };
};

function posting(apiServer: ApiServer): (path: string, object: object) => Promise<void> {
  const transport = createDirectTransport(apiServer.handle);
  const headers = { accept: 'application/json', authorization: 'Bearer admin', 'content-type': 'application/json' };
  return async (path, object) => {
    const query = new URLSearchParams();
    const { status, body } = await transport.request({
      method: 'POST',
      path,
      query,
      headers,
      body: JSON.stringify(object),
    });
    if (status !== 201 || body.kind !== 'json') throw new Error(`POST ${path} was answered with ${status}`);
    body.bytes();
  };
}

/** Time for one object, until everybody who follows has seen them all. */
async function run(work: { readonly first: number; readonly count: number; readonly step: Step }): Promise<number> {
  const before = threadUs();
  const end = work.first + work.count;
  let next = work.first;
  const writer = async (): Promise<void> => {
    for (let index = next++; index < end; index = next++) {
      // Like real requests: some in each turn of the event loop.
      await nextTurn();
      await work.step(index);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  await clock.sleep(REST_MS);
  return (threadUs() - before) / work.count;
}

function threadUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

async function start(followers: Followers): Promise<AsyncDisposable & { readonly apiServer: ApiServer }> {
  const store = createMemoryStore();
  const bus = createLocalBus();
  const apiServer = createApiServer({ ...machineOf('apiserver'), store, tokens: USERS });
  const services: Service[] = [apiServer];
  const { knownState } = apiServer;
  if (followers !== 'nobody') services.push(createRelay({ store, bus, knownState, ...machineOf('relay') }));
  services.push(...followingServices(followers, apiServer, bus));
  for (const service of services) await service.start();
  return {
    apiServer,
    [Symbol.asyncDispose]: async () => {
      for (const service of services.toReversed()) await service.stop();
      await bus.close();
      await store.close();
    },
  };
}

function followingServices(followers: Followers, apiServer: ApiServer, bus: Bus): readonly Service[] {
  const withScheduler = followers === 'scheduler' || followers === 'embedded';
  const withControllers = followers === 'controllers' || followers === 'embedded';
  const clients = { manager: clientOf(apiServer, 'manager'), podGc: clientOf(apiServer, 'podGc') };
  return [
    ...(withControllers ? [createControllerManager({ ...machineOf('manager'), bus, clients })] : []),
    ...(withScheduler
      ? [createScheduler({ ...machineOf('scheduler'), bus, client: clientOf(apiServer, 'scheduler') })]
      : []),
  ];
}

function clientOf(apiServer: ApiServer, token: string): ApiClient {
  return createApiClient({ transport: createDirectTransport(apiServer.handle), token, userAgent: `bench/${token}` });
}

function machineOf(name: string) {
  const random = createSeededRandom(11, name);
  return { clock, random, ids: createIds(random), log: createSilentLog() };
}

const configMap = (index: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `cm-${index}`, namespace: NAMESPACE, labels: { shard: `s${index % 50}` } },
  data: { key: 'x'.repeat(400) },
});

/** The scheduler follows it and leaves it to another: the binding is the same with every set of followers. */
function podForOthers(index: number) {
  const pod = schedulingPod('plain', index);
  return { ...pod, spec: { ...pod.spec, schedulerName: 'another' } };
}

const binding = (index: number, name: string) => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name },
  target: { apiVersion: 'v1', kind: 'Node', name: `node-${index % NODE_COUNT}` },
});

const lease = (index: number) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: `lease-${index}`, namespace: NAMESPACE },
  spec: { holderIdentity: 'someone', leaseDurationSeconds: 40 },
});
