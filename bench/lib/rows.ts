import { Connection } from './connection.ts';
import { coral, coralDefinition, DEFINITIONS_PATH, deepened, REEF_NAMESPACE_PATH } from './custom-objects.ts';
import { ascending, type Figure, percentile } from './figures.ts';
import type { Target } from './tls-connection.ts';

const NAMESPACE = 'bench';
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
/** With its metadata an object has about 500 bytes. */
const PAYLOAD = 'x'.repeat(250);
const LABEL_GROUPS = 50;
const LISTS = 20;

export interface Load {
  readonly target: Target;
  readonly connections: number;
  readonly objects: number;
}

const nameOf = (index: number): string => `bench-${index}`;

/** A kind whose objects are written: how fast its rows are can be compared with those of another. */
export interface Subject {
  readonly prefix: string;
  readonly note: string;
  readonly path: string;
  readonly body: (index: number) => unknown;
  readonly change: (index: number) => unknown;
}

export const CONFIG_MAPS: Subject = {
  prefix: '',
  note: 'ConfigMaps of about 500 bytes',
  path: PATH,
  body: (i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: nameOf(i), labels: { group: `g${i % LABEL_GROUPS}` } },
    data: { payload: PAYLOAD },
  }),
  change: (i) => ({ data: { touched: String(i) } }),
};

export const CUSTOM_RESOURCES: Subject = {
  prefix: 'custom ',
  note: 'custom resources with ten fields and five rules',
  path: `${REEF_NAMESPACE_PATH}/${NAMESPACE}/corals`,
  body: (i) => ({ ...(coral(i) as object), metadata: { name: nameOf(i), labels: { group: `g${i % LABEL_GROUPS}` } } }),
  change: deepened,
};

/** The kind of the custom resources, until it is served. */
export async function prepareDefinition(load: Load): Promise<void> {
  const connection = await Connection.open(load.target);
  const { status } = await connection.request('POST', DEFINITIONS_PATH, JSON.stringify(coralDefinition()));
  if (status !== 201 && status !== 409) throw new Error(`creating the definition answered ${status}`);
  const isServed = async (): Promise<boolean> =>
    (await connection.request('GET', `${CUSTOM_RESOURCES.path}?limit=1`)).status === 200;
  while (!(await isServed())) await new Promise((resolve) => setTimeout(resolve, 50));
  connection.close();
}

export async function prepareNamespace(load: Load): Promise<void> {
  const connection = await Connection.open(load.target);
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const { status } = await connection.request('POST', '/api/v1/namespaces', body);
  if (status !== 201 && status !== 409) throw new Error(`creating the namespace ${NAMESPACE} answered ${status}`);
  connection.close();
}

export async function createRow(load: Load, subject = CONFIG_MAPS): Promise<Figure> {
  const { value, latency } = await drive(load, load.objects, (connection, i) =>
    expectStatus(connection.request('POST', subject.path, JSON.stringify(subject.body(i))), 201),
  );
  const note = `${load.objects} ${subject.note}, ${latency}`;
  return { row: `${subject.prefix}create`, value, unit: 'objects/s', note, operations: load.objects };
}

export async function getRow(load: Load): Promise<Figure> {
  const count = load.objects * 2;
  const { value, latency } = await drive(load, count, (connection, i) =>
    expectStatus(connection.request('GET', `${PATH}/${nameOf((i * 7919) % load.objects)}`), 200),
  );
  return { row: 'get', value, unit: 'requests/s', note: `${count} gets, ${latency}`, operations: count };
}

export async function patchRow(load: Load, { path, prefix, change } = CONFIG_MAPS): Promise<Figure> {
  const { value, latency } = await drive(load, load.objects, (connection, i) => {
    const body = JSON.stringify(change(i));
    return expectStatus(connection.request('PATCH', `${path}/${nameOf(i)}`, body, 'application/merge-patch+json'), 200);
  });
  return { row: `${prefix}patch`, value, unit: 'objects/s', note: `merge patch, ${latency}`, operations: load.objects };
}

export async function deleteRow(load: Load, { path, prefix } = CONFIG_MAPS): Promise<Figure> {
  const { value, latency } = await drive(load, load.objects, (connection, i) =>
    expectStatus(connection.request('DELETE', `${path}/${nameOf(i)}`), 200),
  );
  const note = `${load.objects} objects, ${latency}`;
  return { row: `${prefix}delete`, value, unit: 'objects/s', note, operations: load.objects };
}

export async function listRow(load: Load, { path, prefix } = CONFIG_MAPS): Promise<Figure> {
  return listLatency(load, `${prefix}list`, path, `${load.objects} objects, p50 of ${LISTS}`);
}

export async function labelListRow(load: Load): Promise<Figure> {
  const note = `${Math.ceil(load.objects / LABEL_GROUPS)} of ${load.objects} objects, p50 of ${LISTS}`;
  return listLatency(load, 'label list', `${PATH}?labelSelector=group%3Dg7`, note);
}

async function listLatency(load: Load, row: string, path: string, note: string): Promise<Figure> {
  const connection = await Connection.open(load.target);
  const times: number[] = [];
  for (let i = 0; i < LISTS; i++) {
    const startedAt = performance.now();
    await expectStatus(connection.request('GET', path), 200);
    times.push(performance.now() - startedAt);
  }
  connection.close();
  return { row, value: percentile(ascending(times), 0.5), unit: 'ms', note, operations: LISTS };
}

interface Driven {
  /** Requests per second. */
  readonly value: number;
  readonly latency: string;
}

/** Runs `count` requests over all connections, each connection one at a time. */
async function drive(
  load: Load,
  count: number,
  request: (connection: Connection, index: number) => Promise<void>,
): Promise<Driven> {
  const connections = await Promise.all(Array.from({ length: load.connections }, () => Connection.open(load.target)));
  const times: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let index = next++; index < count; index = next++) {
        const sentAt = performance.now();
        await request(connection, index);
        times.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  for (const connection of connections) connection.close();
  const sorted = ascending(times);
  const latency = `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms`;
  return { value: count / seconds, latency };
}

async function expectStatus(answer: Promise<{ status: number; body: Buffer }>, wanted: number): Promise<void> {
  const { status, body } = await answer;
  if (status !== wanted) throw new Error(`expected ${wanted}, got ${status}: ${body.toString().slice(0, 300)}`);
}
