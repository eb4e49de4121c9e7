import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { ascending, type Figure, percentile } from './figures.ts';
import { PodCounter } from './pod-counts.ts';
import { cpuMs, residentMb } from './server-process.ts';
import type { Target } from './tls-connection.ts';

export interface NodeLoad {
  readonly target: Target;
  readonly pid: number;
  /** The cluster's directory: the supervisor of its node keeps its records there. */
  readonly directory: string;
  readonly image: string;
  readonly single: number;
  readonly pods: number;
}

type Print = (figure: Figure) => void;

const NAMESPACE = 'bench-kubelet';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const DEADLINE_MS = 120_000;
const IDLE_MS = 20_000;
/** Kubernetes' `nodeLeaseDurationSeconds`. */
const LEASE_MS = 40_000;

/** Pods that run, from the create to a running status, as a client sees it. */
export async function podRows(load: NodeLoad, print: Print): Promise<void> {
  const connection = await Connection.open(load.target);
  await post(connection, '/api/v1/namespaces', namespace);
  await accountExists(connection);
  const watch = await PodCounter.open(load.target, NAMESPACE);
  try {
    await oneAtATime(load, connection, watch, print);
    await allAtOnce(load, connection, watch, print);
    await residence(load, connection, watch, print);
  } finally {
    watch.close();
    connection.close();
  }
}

async function oneAtATime({ single, ...load }: NodeLoad, connection: Connection, watch: PodCounter, print: Print) {
  // The first pod of a node starts its supervisor.
  await post(connection, PODS, pod('first', load.image));
  await watch.until(({ running }) => running === 1, DEADLINE_MS);
  await quiet(connection);
  const before = await requestsOf(connection);
  const [server, supervisor] = [cpuMs(load.pid), supervisorMs(load.directory)];
  const times: number[] = [];
  for (let i = 0; i < single; i++) {
    const startedAt = performance.now();
    await post(connection, PODS, pod(`single-${i}`, load.image));
    await watch.until(({ running }) => running === i + 2, DEADLINE_MS);
    times.push(performance.now() - startedAt);
  }
  await quiet(connection);
  const sorted = ascending(times);
  const best = (sorted[0] ?? 0).toFixed(0);
  const [late, worst] = [0.9, 0.99].map((share) => percentile(sorted, share).toFixed(0));
  const cores = ((cpuMs(load.pid) - server) / single).toFixed(1);
  const others = ((supervisorMs(load.directory) - supervisor) / single).toFixed(1);
  const note = `create to Running, p50 of ${single} one after the other; best ${best}, p90 ${late}, p99 ${worst}; ${cores} ms of the server's cores each, ${others} of the supervisor`;
  print({ row: 'one pod', value: percentile(sorted, 0.5), unit: 'ms', note });
  const used = differences(before, await requestsOf(connection)).filter(([, count]) => count >= single / 2);
  for (let i = 0; i < single; i++) await remove(connection, `single-${i}`);
  await remove(connection, 'first');
  await watch.until((counts) => counts.all === 0, DEADLINE_MS);
  const all = used.reduce((sum, [, count]) => sum + count, 0);
  const named = used.map(([what, count]) => `${what} ${(count / single).toFixed(1)}`).join(', ');
  print({ row: 'requests of a pod', value: all / single, unit: '', note: named });
}

async function allAtOnce({ pods, ...load }: NodeLoad, connection: Connection, watch: PodCounter, print: Print) {
  const [server, supervisor, startedAt] = [cpuMs(load.pid), supervisorMs(load.directory), performance.now()];
  for (let i = 0; i < pods; i++) await post(connection, PODS, pod(`many-${i}`, load.image));
  const createdMs = performance.now() - startedAt;
  await watch.until(({ running }) => running === pods, DEADLINE_MS);
  const seconds = (performance.now() - startedAt) / 1000;
  const cores = ((cpuMs(load.pid) - server) / pods).toFixed(1);
  const others = ((supervisorMs(load.directory) - supervisor) / pods).toFixed(1);
  const note = `${pods} pods, created in ${(createdMs / 1000).toFixed(2)} s, to Running; ${cores} ms of the server's cores each, ${others} of the supervisor`;
  print({ row: 'many pods', value: seconds, unit: 's', note });
}

async function residence({ pods, ...load }: NodeLoad, connection: Connection, watch: PodCounter, print: Print) {
  await quiet(connection);
  print({ row: 'memory, server', value: residentMb(load.pid), unit: 'MB RSS', note: `with ${pods} pods` });
  const supervisors = supervisorsOf(load.directory);
  const resident = supervisors.reduce((sum, each) => sum + residentMb(each), 0);
  print({ row: 'memory, supervisor', value: resident, unit: 'MB RSS', note: `with ${pods} pods` });
  const [before, startedAt] = [cpuMs(load.pid), performance.now()];
  for (let i = 0; i < pods; i++) await remove(connection, `many-${i}`);
  await watch.until(({ all }) => all === 0, DEADLINE_MS);
  const cores = ((cpuMs(load.pid) - before) / pods).toFixed(1);
  const note = `${pods} pods deleted and gone, grace 1 s; ${cores} ms of the server's cores each`;
  print({ row: 'pods gone', value: (performance.now() - startedAt) / 1000, unit: 's', note });
}

export interface HollowLoad extends Pick<NodeLoad, 'target' | 'pid'> {
  readonly nodes: number;
  /** The start time of the cluster. */
  readonly startMs: number;
}

/** Nodes that only pretend, but register, renew their leases and report their status. */
export async function hollowRows(load: HollowLoad, print: Print): Promise<void> {
  const { nodes, pid, startMs } = load;
  const connection = await Connection.open(load.target);
  const startedAt = performance.now();
  while ((await readyNodes(connection)) < nodes) {
    if (performance.now() - startedAt > DEADLINE_MS) throw new Error(`${nodes} nodes are not ready in time`);
    await sleep(1_000);
  }
  const spent = (cpuMs(pid) / 1000).toFixed(1);
  const note = `${nodes} nodes that pretend, from the start of the server until all are ready; ${spent} s of its cores`;
  print({ row: 'nodes ready', value: (startMs + performance.now() - startedAt) / 1000, unit: 's', note });
  await sleep(IDLE_MS);
  const before = cpuMs(pid);
  let oldest = 0;
  for (const idleAt = performance.now(); performance.now() - idleAt < IDLE_MS; await sleep(IDLE_MS / 4))
    oldest = Math.max(oldest, await oldestLeaseMs(connection));
  const late = `oldest lease ${(oldest / 1000).toFixed(1)} s (${LEASE_MS / 1000} s is too late), ${nodes - (await readyNodes(connection))} nodes not ready`;
  print({ row: 'heartbeats', value: (cpuMs(pid) - before) / IDLE_MS, unit: 'cores', note: `${nodes} nodes; ${late}` });
  print({ row: 'memory', value: residentMb(pid), unit: 'MB RSS', note: `with ${nodes} nodes` });
  connection.close();
}

interface Listed<T> {
  readonly items: readonly T[];
}

interface Node {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function readyNodes(connection: Connection): Promise<number> {
  const { body } = await connection.request('GET', '/api/v1/nodes');
  const { items }: Listed<Node> = JSON.parse(body.toString());
  return items.filter(({ status }) =>
    status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
  ).length;
}

async function oldestLeaseMs(connection: Connection): Promise<number> {
  const { body } = await connection.request('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases');
  const { items }: Listed<{ readonly spec: { readonly renewTime: string } }> = JSON.parse(body.toString());
  const now = performance.timeOrigin + performance.now();
  return Math.max(...items.map(({ spec }) => now - Date.parse(spec.renewTime)));
}

async function post(connection: Connection, path: string, body: unknown): Promise<void> {
  const answer = await connection.request('POST', path, JSON.stringify(body));
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.toString()}`);
}

async function remove(connection: Connection, name: string): Promise<void> {
  const { status } = await connection.request('DELETE', `${PODS}/${name}`);
  if (status !== 200) throw new Error(`DELETE ${name} answered ${status}`);
}

/** Pods are refused until the account of their namespace is there. */
async function accountExists(connection: Connection): Promise<void> {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`;
  const startedAt = performance.now();
  while ((await connection.request('GET', path)).status !== 200) {
    if (performance.now() - startedAt > DEADLINE_MS) throw new Error('the namespace has no account');
    await sleep(20);
  }
}

/** Waits until only heartbeats are left: events of pods follow the pods. */
async function quiet(connection: Connection): Promise<void> {
  const events = async (): Promise<number> => (await requestsOf(connection)).get('POST events') ?? 0;
  for (let before = -1, now = await events(); before !== now; ) {
    await sleep(1_000);
    [before, now] = [now, await events()];
  }
}

/** Answered requests by verb and resource. */
async function requestsOf(connection: Connection): Promise<ReadonlyMap<string, number>> {
  const { body } = await connection.request('GET', '/metrics');
  const counts = new Map<string, number>();
  for (const [, labels = '', count] of body.toString().matchAll(/^apiserver_request_total\{([^}]*)\} (\d+)$/gm)) {
    const label = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const resource = [label('resource'), label('subresource')].filter((each) => each !== '').join('/');
    const key = `${label('verb')} ${resource}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(count));
  }
  return counts;
}

function differences(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) {
  return [...after].map(([what, count]) => [what, count - (before.get(what) ?? 0)] as const);
}

function supervisorsOf(directory: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const command = commandOf(pid);
      return command.includes('supervisor-main') && command.includes(directory);
    });
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It ended meanwhile.
    return '';
  }
}

/** Without child processes. */
const supervisorMs = (directory: string): number => supervisorsOf(directory).reduce((sum, pid) => sum + cpuMs(pid), 0);

const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };

const pod = (name: string, image: string): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image, command: ['/bin/sleep', '100000'] }],
  },
});
