import { drive, makeNamespace, send } from './api-driver.ts';
import { BindingWatch } from './binding-watch.ts';
import { type Answer, Connection } from './connection.ts';
import { ascending, type Figure, percentile } from './figures.ts';
import { type Shape, schedulingNode, schedulingPod } from './scheduling-objects.ts';
import type { Target } from './tls-connection.ts';

/** Without a binding for this long, the rest will not be bound. */
const QUIET_MS = 15_000;
const NODE_CONNECTIONS = 16;

export async function createNodes(target: Target, nodes: number): Promise<void> {
  await drive(target, { connections: NODE_CONNECTIONS, count: nodes }, async (connection, i) => {
    const { status: _, ...node } = schedulingNode(i);
    const created = await send(connection, ['POST', '/api/v1/nodes'], {
      ...schedulingNode(i),
      metadata: node.metadata,
    });
    const { metadata } = JSON.parse(created.body.toString()) as { metadata: object };
    // A node that registers as not ready is tainted until a controller sees it ready; there is no controller.
    await send(connection, ['PUT', `/api/v1/nodes/${node.metadata.name}`], { ...schedulingNode(i), metadata });
  });
}

export interface ThroughputLoad {
  readonly shape: Shape;
  readonly pods: number;
  readonly connections: number;
}

/** Creates and binds concurrently, at full speed. */
export async function throughputRow(target: Target, load: ThroughputLoad): Promise<readonly Figure[]> {
  const { shape, pods, connections } = load;
  const namespace = await makeNamespace(target);
  const watch = await BindingWatch.open(target, namespace);
  const startedAt = performance.now();
  await drive(target, { connections, count: pods }, (connection, i) => createPod(connection, namespace, { shape, i }));
  const createdMs = performance.now() - startedAt;
  await watch.bound(pods, QUIET_MS);
  watch.close();
  const bound = watch.boundAt.size;
  const lastMs = Math.max(...watch.boundAt.values()) - startedAt;
  const cut = watch.restarts === 0 ? '' : `; the watch was cut off ${watch.restarts} times`;
  const note = `${bound} of ${pods} pods bound; all created after ${(createdMs / 1000).toFixed(1)} s${cut}`;
  return [{ row: `bind, ${shape}`, value: bound / (lastMs / 1000), unit: 'pods/s', note, operations: pods }];
}

/** From the create to the observed binding, at a steady rate. */
export async function latencyRow(
  target: Target,
  { rate, pods }: { readonly rate: number; readonly pods: number },
): Promise<readonly Figure[]> {
  const namespace = await makeNamespace(target);
  const watch = await BindingWatch.open(target, namespace);
  const sentAt = new Map<string, number>();
  const startedAt = performance.now();
  await drive(target, { connections: NODE_CONNECTIONS, count: pods }, async (connection, i) => {
    const waitMs = startedAt + (i * 1000) / rate - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    sentAt.set(schedulingPod('plain', i).metadata.name ?? '', performance.now());
    await createPod(connection, namespace, { shape: 'plain', i });
  });
  await watch.bound(pods, QUIET_MS);
  watch.close();
  const sorted = ascending([...watch.boundAt].map(([name, at]) => at - (sentAt.get(name) ?? at)));
  const note = `${sorted.length} of ${pods} pods at ${rate}/s, create to seen bound; p50 ${percentile(sorted, 0.5).toFixed(1)} ms`;
  return [{ row: 'pod p99', value: percentile(sorted, 0.99), unit: 'ms', note, operations: pods }];
}

const FILLERS_PER_NODE = 4;
const IMPORTANT = 'bench-important';

interface Preemptions {
  readonly nodes: number;
  readonly pods: number;
  readonly connections: number;
}

/** Fills every node with unimportant pods; the namespace that they are in. */
export async function fillNodes(target: Target, { nodes, connections }: Preemptions): Promise<string> {
  const fillers = await makeNamespace(target);
  await makePriority(target);
  await drive(target, { connections, count: nodes * FILLERS_PER_NODE }, (connection, i) =>
    createPod(connection, fillers, { shape: 'filler', i, nodeName: `node-${Math.floor(i / FILLERS_PER_NODE)}` }),
  );
  return fillers;
}

/** On full nodes, large pods arrive together; they are bound when their victims have ended. */
export async function preemptionRow(
  target: Target,
  fillers: string,
  { nodes, pods, connections }: Preemptions,
): Promise<readonly Figure[]> {
  const important = await makeNamespace(target);
  await using kubelets = await Kubelets.open(target, fillers);
  const watch = await BindingWatch.open(target, important);
  const startedAt = performance.now();
  await drive(target, { connections, count: pods }, (connection, i) =>
    createPod(connection, important, { shape: 'important', i, priorityClassName: IMPORTANT }),
  );
  await watch.bound(pods, QUIET_MS);
  watch.close();
  const lastMs = Math.max(...watch.boundAt.values()) - startedAt;
  const note = `${watch.boundAt.size} of ${pods} pods bound on ${nodes} full nodes, ${kubelets.ended()} victims`;
  return [{ row: 'preempt', value: watch.boundAt.size / (lastMs / 1000), unit: 'pods/s', note, operations: pods }];
}

/** Acts as the kubelets of terminating pods without processes: confirms their end. */
class Kubelets implements AsyncDisposable {
  readonly #namespace: string;
  readonly #free: Connection[] = [];
  readonly #waiting: string[] = [];
  readonly #open: Connection[] = [];
  #watch: BindingWatch | undefined;

  private constructor(namespace: string) {
    this.#namespace = namespace;
  }

  static async open(target: Target, namespace: string): Promise<Kubelets> {
    const kubelets = new Kubelets(namespace);
    for (let i = 0; i < NODE_CONNECTIONS; i++) kubelets.#open.push(await Connection.open(target));
    kubelets.#free.push(...kubelets.#open);
    kubelets.#watch = await BindingWatch.open(target, namespace, (name) => {
      kubelets.#waiting.push(name);
      void kubelets.#confirm();
    });
    return kubelets;
  }

  ended(): number {
    return this.#watch?.terminating.size ?? 0;
  }

  async #confirm(): Promise<void> {
    const connection = this.#free.pop();
    if (connection === undefined) return;
    for (let name = this.#waiting.shift(); name !== undefined; name = this.#waiting.shift()) {
      await connection.request('DELETE', `/api/v1/namespaces/${this.#namespace}/pods/${name}?gracePeriodSeconds=0`);
    }
    this.#free.push(connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch?.close();
    for (const connection of this.#open) connection.close();
  }
}

async function makePriority(target: Target): Promise<void> {
  const connection = await Connection.open(target);
  const body = {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: IMPORTANT },
    value: 1000,
  };
  // It may be there from an earlier run.
  await connection.request('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', JSON.stringify(body));
  connection.close();
}

interface Wanted {
  readonly shape: Parameters<typeof schedulingPod>[0];
  readonly i: number;
  readonly nodeName?: string;
  readonly priorityClassName?: string;
}

export function createPod(
  connection: Connection,
  namespace: string,
  { shape, i, nodeName, priorityClassName }: Wanted,
): Promise<Answer> {
  const { apiVersion, kind, metadata, spec } = schedulingPod(shape, i, nodeName);
  const { name = '', labels = {} } = metadata;
  const { priority: _, ...asked } = spec;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  return send(connection, ['POST', path], {
    apiVersion,
    kind,
    metadata: { name, labels },
    spec: { ...asked, ...(priorityClassName === undefined ? {} : { priorityClassName }) },
  });
}
