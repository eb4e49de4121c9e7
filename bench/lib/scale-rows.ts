import { request } from 'node:https';
import { drive, makeNamespace, send } from './api-driver.ts';
import { BindingWatch } from './binding-watch.ts';
import type { Figure } from './figures.ts';
import { schedulingNode, schedulingPod } from './scheduling-objects.ts';
import { createPod } from './scheduling-rows.ts';
import type { Target } from './tls-connection.ts';

export interface ScaleLoad {
  readonly target: Target;
  readonly nodes: number;
  readonly pods: number;
  readonly namespaces: number;
  /** Pods of one ReplicaSet; 0: the pods belong to nobody, and come from the driver. */
  readonly perReplicaSet: number;
}

const CONNECTIONS = 32;
/** Nothing bound for this long: the rest will not be. */
const QUIET_MS = 30_000;
const JSON_TYPE = 'application/json';
const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

/** Ready nodes that nobody runs; the grace period of the server has to be longer than the bench. */
export async function createReadyNodes({ target, nodes }: ScaleLoad, now: string): Promise<Figure> {
  const startedAt = performance.now();
  const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: now, lastTransitionTime: now };
  await drive(target, { connections: CONNECTIONS, count: nodes }, async (connection, i) => {
    const node = schedulingNode(i);
    const status = { ...node.status, conditions: [condition] };
    const created = await send(connection, ['POST', '/api/v1/nodes'], { ...node, status });
    const { metadata } = JSON.parse(created.body.toString()) as { metadata: object };
    // The taint of new nodes goes when a controller sees them ready, and there may be none.
    const answer = await connection.request(
      'PUT',
      `/api/v1/nodes/${node.metadata.name}`,
      JSON.stringify({ ...node, status, metadata }),
    );
    if (answer.status !== 200 && answer.status !== 409) throw new Error(`a node was answered with ${answer.status}`);
  });
  const seconds = (performance.now() - startedAt) / 1000;
  return { row: 'create nodes', value: nodes / seconds, unit: 'nodes/s', note: `${nodes} nodes`, operations: nodes };
}

/** All pods created and bound, watched by one client for each namespace. */
export async function fillRow(load: ScaleLoad): Promise<Figure> {
  const { target, pods } = load;
  const names = await Promise.all(Array.from({ length: load.namespaces }, () => makeNamespace(target)));
  const watches = await Promise.all(names.map((name) => BindingWatch.open(target, name)));
  const startedAt = performance.now();
  const quarters = countQuarters(watches, pods);
  await (load.perReplicaSet === 0 ? createPods(load, names) : createReplicaSets(load, names));
  const createdMs = performance.now() - startedAt;
  await allBound(watches, pods);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const watch of watches) watch.close();
  const bound = boundIn(watches);
  const restarts = watches.reduce((sum, watch) => sum + watch.restarts, 0);
  const note = `${bound} of ${pods} bound; requests done after ${(createdMs / 1000).toFixed(1)} s; s at each quarter: ${quarters.stop(startedAt)}; watches cut off: ${restarts}`;
  return { row: 'create and bind', value: bound / seconds, unit: 'pods/s', note, operations: pods };
}

/** Resolves when so many pods have a node, or nothing was bound for a while. */
async function allBound(watches: readonly BindingWatch[], pods: number): Promise<void> {
  let seen = boundIn(watches);
  let changedAt = performance.now();
  while (seen < pods && performance.now() - changedAt < QUIET_MS) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = boundIn(watches);
    if (now !== seen) [seen, changedAt] = [now, performance.now()];
  }
}

const boundIn = (watches: readonly BindingWatch[]): number =>
  watches.reduce((sum, watch) => sum + watch.boundAt.size, 0);

/** When each quarter of the pods was bound: whether it gets slower. */
function countQuarters(watches: readonly BindingWatch[], pods: number): { stop(startedAt: number): string } {
  const at: number[] = [];
  const look = (): void => {
    while (at.length < 4 && boundIn(watches) >= ((at.length + 1) * pods) / 4) at.push(performance.now());
  };
  const timer = setInterval(look, 50);
  return {
    stop: (startedAt) => {
      clearInterval(timer);
      look();
      return at.map((each) => ((each - startedAt) / 1000).toFixed(1)).join(', ');
    },
  };
}

function createPods({ target, pods }: ScaleLoad, names: readonly string[]): Promise<void> {
  return drive(target, { connections: CONNECTIONS, count: pods }, (connection, i) =>
    createPod(connection, names[i % names.length] ?? '', { shape: 'plain', i }),
  );
}

/** The pods of a namespace are divided among its ReplicaSets; the controller creates them. */
function createReplicaSets({ target, pods, perReplicaSet }: ScaleLoad, names: readonly string[]): Promise<void> {
  const parts = names.flatMap((namespace, i) => {
    const own = Math.floor(pods / names.length) + (i < pods % names.length ? 1 : 0);
    return Array.from({ length: Math.ceil(own / perReplicaSet) }, (_, part) => ({
      namespace,
      name: `set-${part}`,
      replicas: Math.min(perReplicaSet, own - part * perReplicaSet),
    }));
  });
  return drive(target, { connections: CONNECTIONS, count: parts.length }, (connection, i) => {
    const { namespace = '', name = '', replicas = 0 } = parts[i] ?? {};
    return send(connection, ['POST', `/apis/apps/v1/namespaces/${namespace}/replicasets`], replicaSet(name, replicas));
  });
}

function replicaSet(name: string, replicas: number): object {
  const { spec } = schedulingPod('plain', 0);
  const { priority: _, ...podSpec } = spec;
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec },
    },
  };
}

/** Lists of all pods, until their last byte is there. */
export const LISTS = [
  { row: 'list, JSON', accept: JSON_TYPE, limit: 0 },
  { row: 'list, protobuf', accept: PROTOBUF_TYPE, limit: 0 },
  { row: 'list, JSON, 500', accept: JSON_TYPE, limit: 500 },
  { row: 'list, protobuf, 500', accept: PROTOBUF_TYPE, limit: 500 },
] as const;

export async function listPodsRow(target: Target, { row, accept, limit }: (typeof LISTS)[number]): Promise<Figure> {
  const startedAt = performance.now();
  let bytes = 0;
  let pages = 0;
  let place: string | undefined = '';
  while (place !== undefined) {
    const page: Page = await getPage(target, { accept, limit, place });
    bytes += page.bytes;
    pages++;
    place = page.next;
  }
  const note = `${(bytes / 1024 / 1024).toFixed(1)} MB in ${pages} answers`;
  return { row, value: performance.now() - startedAt, unit: 'ms', note };
}

interface Page {
  readonly bytes: number;
  readonly next: string | undefined;
}

interface PageQuery {
  readonly accept: string;
  readonly limit: number;
  readonly place: string;
}

/** So much of an answer holds its token, or does not. */
const HEAD_BYTES = 2_048;
const TOKEN = /"continue":"([^"]+)"/;
/** In protobuf the token is the longest run of its characters. */
const BARE_TOKEN = /eyJ[\w=-]{20,}/;

/** Counts bytes instead of keeping them. */
function getPage({ host, port, token }: Target, { accept, limit, place }: PageQuery): Promise<Page> {
  const path = `/api/v1/pods?${limit === 0 ? '' : `limit=${limit}`}${place === '' ? '' : `&continue=${place}`}`;
  const headers = { authorization: `Bearer ${token}`, accept };
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path, headers, rejectUnauthorized: false }, (answer) => {
      let bytes = 0;
      let head = '';
      answer.on('data', (chunk: Buffer) => {
        if (bytes < HEAD_BYTES) head += chunk.toString('latin1', 0, HEAD_BYTES);
        bytes += chunk.length;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode !== 200) reject(new Error(`the list was answered with ${answer.statusCode}: ${head}`));
        else resolve({ bytes, next: limit === 0 ? undefined : (TOKEN.exec(head)?.[1] ?? BARE_TOKEN.exec(head)?.[0]) });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}
