import { Connection } from './connection.ts';
import { ascending, type Figure, percentile } from './figures.ts';
import type { Target } from './tls-connection.ts';

const NAMESPACE = 'bench';
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
/** With its metadata an object is about 500 bytes. */
const PAYLOAD = 'x'.repeat(250);
const LABEL_GROUPS = 50;
const LISTS = 20;

export interface Load {
  readonly target: Target;
  readonly connections: number;
  readonly objects: number;
}

const nameOf = (index: number): string => `bench-${index}`;

export async function prepareNamespace(load: Load): Promise<void> {
  const connection = await Connection.open(load.target);
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const { status } = await connection.request('POST', '/api/v1/namespaces', body);
  if (status !== 201 && status !== 409) throw new Error(`creating the namespace ${NAMESPACE} answered ${status}`);
  connection.close();
}

export async function createRow(load: Load): Promise<Figure> {
  const rate = await drive(load, load.objects, (connection, i) => {
    const labels = { group: `g${i % LABEL_GROUPS}` };
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: nameOf(i), labels },
      data: { payload: PAYLOAD },
    };
    return expectStatus(connection.request('POST', PATH, JSON.stringify(object)), 201);
  });
  return {
    row: 'create',
    value: rate,
    unit: 'objects/s',
    note: `${load.objects} ConfigMaps of about 500 bytes`,
    operations: load.objects,
  };
}

export async function getRow(load: Load): Promise<Figure> {
  const count = load.objects * 2;
  const rate = await drive(load, count, (connection, i) =>
    expectStatus(connection.request('GET', `${PATH}/${nameOf((i * 7919) % load.objects)}`), 200),
  );
  return { row: 'get', value: rate, unit: 'requests/s', note: `${count} gets`, operations: count };
}

export async function patchRow(load: Load): Promise<Figure> {
  const rate = await drive(load, load.objects, (connection, i) => {
    const body = JSON.stringify({ data: { touched: String(i) } });
    return expectStatus(connection.request('PATCH', `${PATH}/${nameOf(i)}`, body, 'application/merge-patch+json'), 200);
  });
  return { row: 'patch', value: rate, unit: 'objects/s', note: 'merge patch', operations: load.objects };
}

export async function deleteRow(load: Load): Promise<Figure> {
  const rate = await drive(load, load.objects, (connection, i) =>
    expectStatus(connection.request('DELETE', `${PATH}/${nameOf(i)}`), 200),
  );
  return { row: 'delete', value: rate, unit: 'objects/s', note: `${load.objects} objects`, operations: load.objects };
}

export async function listRow(load: Load): Promise<Figure> {
  return listLatency(load, 'list', PATH, `${load.objects} objects, p50 of ${LISTS}`);
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

/** Runs `count` requests over all connections, each connection one at a time; answers requests per second. */
async function drive(
  load: Load,
  count: number,
  request: (connection: Connection, index: number) => Promise<void>,
): Promise<number> {
  const connections = await Promise.all(Array.from({ length: load.connections }, () => Connection.open(load.target)));
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let index = next++; index < count; index = next++) await request(connection, index);
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  for (const connection of connections) connection.close();
  return count / seconds;
}

async function expectStatus(answer: Promise<{ status: number; body: Buffer }>, wanted: number): Promise<void> {
  const { status, body } = await answer;
  if (status !== wanted) throw new Error(`expected ${wanted}, got ${status}: ${body.toString().slice(0, 300)}`);
}
