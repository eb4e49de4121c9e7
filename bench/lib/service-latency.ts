import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { ascending, type Figure, percentile } from './figures.ts';
import type { Target } from './tls-connection.ts';

const NAMESPACE = 'bench-services';
const BASE = `/api/v1/namespaces/${NAMESPACE}`;
const DEADLINE_MS = 120_000;
const PORT = 8080;

const SERVER = `require('node:net').createServer((s) => s.end('hello')).listen(${PORT}, '0.0.0.0')`;

/** Connects, reads to the end, and goes on with the next target: all see the same machine. Prints times in ms. */
const CLIENT = `
const net = require('node:net');
const [targets, count] = JSON.parse(process.argv[1]);
const once = (target) => new Promise((resolve, reject) => {
  const began = performance.now();
  net.connect(target).on('error', reject).on('close', () => resolve(performance.now() - began)).resume();
});
(async () => {
  const times = targets.map(() => []);
  for (let i = -50; i < count; i++)
    for (const [n, target] of targets.entries()) {
      const ms = await once(target);
      if (i >= 0) times[n].push(ms);
    }
  console.log(JSON.stringify(times));
})();`;

export interface LatencyLoad {
  readonly target: Target;
  readonly connections: number;
}

/** A connection from one pod to another, directly and through a Service, one after the other. */
export async function latencyRows(load: LatencyLoad, print: (figure: Figure) => void): Promise<void> {
  const connection = await Connection.open(load.target);
  try {
    await create(connection, '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: NAMESPACE },
    });
    await field(connection, `${BASE}/serviceaccounts/default`, (account) => account.metadata?.name);
    await create(connection, `${BASE}/pods`, pod('server', SERVER, []));
    const ports = [{ port: 80, targetPort: PORT }];
    await create(connection, `${BASE}/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: { app: 'server' }, ports },
    });
    const direct = { host: await field(connection, `${BASE}/pods/server`, ({ status }) => status?.podIP), port: PORT };
    const service = { host: await field(connection, `${BASE}/services/web`, ({ spec }) => spec?.clusterIP), port: 80 };
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
    await field(connection, slices, ({ items }) => items?.[0]?.endpoints?.[0]?.addresses?.[0]);
    await create(
      connection,
      `${BASE}/pods`,
      pod('client', CLIENT, [JSON.stringify([[direct, service], load.connections])]),
    );
    const done = ({ status }: Seen): string | undefined => (status?.phase === 'Succeeded' ? 'done' : undefined);
    await field(connection, `${BASE}/pods/client`, done);
    const { body } = await connection.request('GET', `${BASE}/pods/client/log`);
    const [straight = [], routed = []]: number[][] = JSON.parse(body.toString());
    print(row('direct', straight));
    print(row('through a service', routed));
  } finally {
    connection.close();
  }
}

function row(name: string, times: readonly number[]): Figure {
  const sorted = ascending(times);
  const note = `p50 of ${times.length} connections, from connect to their end; p99 ${percentile(sorted, 0.99).toFixed(2)} ms`;
  return { row: name, value: percentile(sorted, 0.5), unit: 'ms', note };
}

const pod = (name: string, script: string, args: readonly string[]): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'none', command: [process.execPath, '-e', script, ...args] }],
  },
});

async function create(connection: Connection, path: string, body: object): Promise<void> {
  const answer = await connection.request('POST', path, JSON.stringify(body));
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.body.toString()}`);
}

interface Seen {
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly clusterIP?: string };
  readonly status?: { readonly podIP?: string; readonly phase?: string };
  readonly items?: readonly { readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] }[];
}

/** Waits until the object has it. */
async function field(connection: Connection, path: string, read: (seen: Seen) => string | undefined): Promise<string> {
  for (const startedAt = performance.now(); performance.now() - startedAt < DEADLINE_MS; await sleep(50)) {
    const { status, body } = await connection.request('GET', path);
    const value = status === 200 ? read(JSON.parse(body.toString())) : undefined;
    if (value !== undefined) return value;
  }
  throw new Error(`${path} is not as it should be in time`);
}
