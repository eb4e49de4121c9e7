import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import type { Figure } from './figures.ts';
import { type Counts, PodCounter } from './pod-counts.ts';
import { cpuMs } from './server-process.ts';
import type { Target } from './tls-connection.ts';

export interface ClusterLoad {
  readonly target: Target;
  readonly pid: number;
  readonly pods: number;
  readonly objects: number;
  readonly deployments: number;
  /** Additional registered nodes without heartbeats. */
  readonly registered: number;
}

const NAMESPACE = 'bench-controllers';
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
const DEADLINE_MS = 180_000;
const IDLE_MS = 20_000;
const SURGE_SHARE = 0.25;
const WRITERS = 8;

/** The cost of a row beside its time. */
interface Cost {
  readonly seconds: number;
  readonly cpuMs: number;
  /** All writes to the API: one revision each. */
  readonly writes: number;
}

class Bench {
  readonly load: ClusterLoad;
  readonly connection: Connection;
  readonly watch: PodCounter;

  constructor(load: ClusterLoad, connection: Connection, watch: PodCounter) {
    this.load = load;
    this.connection = connection;
    this.watch = watch;
  }

  async send(method: string, path: string, body?: unknown): Promise<unknown> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await this.connection.request(method, path, text, type);
    if (answer.status >= 400) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body.toString()}`);
    return JSON.parse(answer.body.toString());
  }

  async revision(): Promise<number> {
    const list = (await this.send('GET', '/api/v1/nodes?limit=1')) as { metadata: { resourceVersion: string } };
    return Number(list.metadata.resourceVersion);
  }

  async measure(work: () => Promise<void>): Promise<Cost> {
    const { pid } = this.load;
    const [revision, cpu, startedAt] = [await this.revision(), cpuMs(pid), performance.now()];
    await work();
    const seconds = (performance.now() - startedAt) / 1000;
    return { seconds, cpuMs: cpuMs(pid) - cpu, writes: (await this.revision()) - revision };
  }
}

export async function controllerRows(load: ClusterLoad, print: (figure: Figure) => void): Promise<void> {
  const connection = await Connection.open(load.target);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await connection.request('POST', '/api/v1/namespaces', JSON.stringify(namespace));
  const watch = await PodCounter.open(load.target, NAMESPACE);
  const bench = new Bench(load, connection, watch);
  try {
    for (const row of [scaleUp, rollOut, scaleDown, emptyNamespace, fullNamespace, idle, registerNodes])
      print(await row(bench));
  } finally {
    watch.close();
    connection.close();
  }
}

async function scaleUp(bench: Bench): Promise<Figure> {
  const { pods } = bench.load;
  await bench.send('POST', DEPLOYMENTS, deployment('load', 0));
  const cost = await bench.measure(async () => {
    await bench.send('PATCH', `${DEPLOYMENTS}/load`, { spec: { replicas: pods } });
    await bench.watch.until(({ running, ready }) => running === pods && ready === pods, DEADLINE_MS);
  });
  return figureOf('scale up', `0 -> ${pods} pods running and ready`, cost, pods);
}

async function rollOut(bench: Bench): Promise<Figure> {
  const { pods } = bench.load;
  const limits = { most: pods + Math.ceil(pods * SURGE_SHARE), least: pods - Math.floor(pods * SURGE_SHARE) };
  const bounds = { most: 0, least: pods, broken: 0 };
  bench.watch.onEvent = ({ active, ready }: Counts) => {
    bounds.most = Math.max(bounds.most, active);
    bounds.least = Math.min(bounds.least, ready);
    if (active > limits.most || ready < limits.least) bounds.broken++;
  };
  const cost = await bench.measure(async () => {
    const template = { metadata: { annotations: { round: '2' } } };
    await bench.send('PATCH', `${DEPLOYMENTS}/load`, { spec: { template } });
    await rolledOut(bench);
  });
  bench.watch.onEvent = () => {};
  if (bounds.broken > 0) throw new Error(`the bounds of the rollout were broken at ${bounds.broken} revisions`);
  const note = `of ${pods}; at most ${bounds.most} active (${limits.most}), at least ${bounds.least} ready (${limits.least})`;
  return figureOf('rolling update', note, cost, pods);
}

async function rolledOut(bench: Bench): Promise<void> {
  const { pods } = bench.load;
  const startedAt = performance.now();
  while (performance.now() - startedAt < DEADLINE_MS) {
    const { status } = (await bench.send('GET', `${DEPLOYMENTS}/load`)) as { status: Record<string, number> };
    const { all } = bench.watch.counts();
    if (status['updatedReplicas'] === pods && status['availableReplicas'] === pods && all === pods) return;
    await sleep(100);
  }
  throw new Error(`the rollout was not done in ${DEADLINE_MS} ms`);
}

async function scaleDown(bench: Bench): Promise<Figure> {
  const { pods } = bench.load;
  const cost = await bench.measure(async () => {
    await bench.send('PATCH', `${DEPLOYMENTS}/load`, { spec: { replicas: 0 } });
    await bench.watch.until(({ all }) => all === 0, DEADLINE_MS);
  });
  await bench.send('DELETE', `${DEPLOYMENTS}/load`);
  return figureOf('scale down', `${pods} -> 0, all objects gone`, cost, pods);
}

const emptyNamespace = (bench: Bench): Promise<Figure> => namespaceRow(bench, 0);
const fullNamespace = (bench: Bench): Promise<Figure> => namespaceRow(bench, bench.load.objects);

async function namespaceRow(bench: Bench, objects: number): Promise<Figure> {
  const name = `bench-of-${objects}`;
  const path = `/api/v1/namespaces/${name}`;
  await bench.send('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await spread(bench.load.target, objects, (i) => ({
    path: `${path}/configmaps`,
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c-${i}` } },
  }));
  await sleep(1_000);
  const cost = await bench.measure(async () => {
    await bench.send('DELETE', path);
    const startedAt = performance.now();
    while ((await bench.connection.request('GET', path)).status !== 404) {
      if (performance.now() - startedAt > DEADLINE_MS) throw new Error(`${name} is still there`);
      await sleep(5);
    }
  });
  return figureOf('namespace gone', `with ${objects} ConfigMaps in it`, cost, Math.max(1, objects));
}

async function idle(bench: Bench): Promise<Figure> {
  const { deployments, target } = bench.load;
  await spread(target, deployments, (i) => ({ path: DEPLOYMENTS, body: deployment(`idle-${i}`, 1) }));
  await bench.watch.until(({ ready }) => ready >= deployments, DEADLINE_MS);
  await sleep(IDLE_MS / 2);
  const { cpuMs: used, writes } = await bench.measure(() => sleep(IDLE_MS));
  const note = `of one core, ${deployments} Deployments at rest; ${writes} writes in ${IDLE_MS / 1000} s, heartbeats included`;
  return { row: 'idle', value: (used / IDLE_MS) * 100, unit: '%', note };
}

/** The controllers are done with a node when it has its taints, which the node lifecycle writes, and its advice. */
async function registerNodes(bench: Bench): Promise<Figure> {
  const { registered, target } = bench.load;
  const name = (i: number): string => `registered-${i}`;
  const cost = await bench.measure(async () => {
    await spread(target, registered, (i) => ({ path: '/api/v1/nodes', body: nodeWith(name(i)) }));
    const startedAt = performance.now();
    while (!(await isSettled(bench, name(registered - 1)))) {
      if (performance.now() - startedAt > DEADLINE_MS) throw new Error('the nodes were not looked at');
      await sleep(100);
    }
  });
  const rate = `${Math.round(registered / cost.seconds)} nodes/s`;
  return figureOf(
    'nodes registered',
    `${registered}, until the controllers are done with the last: ${rate}`,
    cost,
    registered,
  );
}

const nodeWith = (name: string): unknown => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: 'True' }], capacity: { cpu: '4', memory: '8Gi', pods: '110' } },
});

async function isSettled(bench: Bench, name: string): Promise<boolean> {
  const node = (await bench.send('GET', `/api/v1/nodes/${name}`)) as NodeAnswer;
  const isTainted = (node.spec.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/not-ready');
  return !isTainted && node.metadata.annotations?.['node.alpha.kubernetes.io/ttl'] !== undefined;
}

interface NodeAnswer {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
}

async function spread(
  target: Target,
  count: number,
  requestOf: (index: number) => { readonly path: string; readonly body: unknown },
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    const connection = await Connection.open(target);
    for (let i = next++; i < count; i = next++) {
      const { path, body } = requestOf(i);
      const { status } = await connection.request('POST', path, JSON.stringify(body));
      if (status !== 201) throw new Error(`POST ${path} answered ${status}`);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: Math.min(WRITERS, count) }, work));
}

function figureOf(row: string, what: string, { seconds, cpuMs: used, writes }: Cost, operations: number): Figure {
  const each = `${(used / operations).toFixed(2)} ms of the server's cores and ${(writes / operations).toFixed(2)} writes each`;
  return { row, value: seconds, unit: 's', note: `${what}; ${each}` };
}

const deployment = (name: string, replicas: number): unknown => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'pause' }] },
    },
  },
});
