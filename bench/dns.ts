import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createSeededRandom, createSilentLog, createSystemClock, nextTurn } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { ENDPOINT_SLICES, type EndpointSlice, SERVICES, type Service } from '../libs/api/src/index.ts';
import { type ClusterNames, createClusterNames } from '../services/kubelet/src/dns/cluster-names.ts';
import { startSchedulerCluster } from '../test/support/scheduler-cluster.ts';
import { ascending, percentile, printFigure } from './lib/figures.ts';

/**
 * Names of services: answers of one thread without and with the network, and the time from a change of endpoints to
 * the first answer that has it. One process with API server and store; the client of the network has its own.
 */
const SETTINGS = {
  services: { kind: 'integer', help: 'Services', default: 1_000, min: 1 },
  queries: { kind: 'integer', help: 'Queries of each row', default: 100_000, min: 1 },
  changes: { kind: 'integer', help: 'Changes of endpoints', default: 200, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/dns.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}

const nameOf = (i: number): string => `service-${i}.default.svc.cluster.local`;
/** A question for the IPv4 addresses of a name (RFC 1035, 4.1). */
function questionOf(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return Buffer.concat([Buffer.from('000101000001000000000000', 'hex'), ...labels, Buffer.from('0000010001', 'hex')]);
}

const queryFor = (i: number): Buffer => questionOf(nameOf(i % settings.services));

/** Keeps 64 queries under way. */
const CLIENT = `
const [host, port, count] = process.argv.slice(1);
const queries = JSON.parse(require('node:fs').readFileSync(0, 'utf8')).map((text) => Buffer.from(text, 'base64'));
const socket = require('node:dgram').createSocket('udp4');
let sent = 0;
let received = 0;
const send = () => sent < Number(count) && socket.send(queries[sent++ % queries.length]);
socket.on('message', () => (++received === Number(count) ? socket.close() : send()));
socket.connect(Number(port), host, () => { for (let i = 0; i < 64; i++) send(); });
setInterval(send, 100).unref();
`;

await using cluster = await startSchedulerCluster(0);
const { admin } = cluster;
const clock = createSystemClock();
const names = createClusterNames({
  client: admin,
  clock,
  random: createSeededRandom(1, 'bench'),
  log: createSilentLog(),
  isRouted: () => true,
  port: 0,
});
await names.start();
for (let i = 0; i < settings.services; i++) await admin.create(SERVICES, service(`service-${i}`, {}));
await answersRow(names);
await networkRow(names);
await changeRow(names);
await names.stop();

function service(name: string, spec: Partial<Service['spec']>): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name },
    spec: { ports: [{ port: 80 }], ...spec },
  } as Service;
}

async function answersRow(from: ClusterNames): Promise<void> {
  const { queries } = settings;
  const asked = Array.from({ length: Math.min(queries, settings.services) }, (_, i) => queryFor(i));
  const ask = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await from.answer(asked[i % asked.length] ?? Buffer.alloc(0), '127.0.0.1');
  };
  await ask(queries / 10);
  const before = process.cpuUsage();
  await ask(queries);
  printRate('dns, answers', before, queries);
}

function printRate(row: string, before: NodeJS.CpuUsage, queries: number, more = ''): void {
  const { user, system } = process.cpuUsage(before);
  const us = (user + system) / queries;
  const note = `${us.toFixed(1)} us of CPU each; ${settings.services} services${more}`;
  printFigure({ row, value: 1e6 / us, unit: 'queries/s', note });
}

async function networkRow(to: ClusterNames): Promise<void> {
  const listening = to.address();
  if (listening === undefined) throw new Error('the name server does not listen');
  const { queries } = settings;
  const asked = Array.from({ length: settings.services }, (_, i) => queryFor(i).toString('base64'));
  const args = ['-e', CLIENT, listening.address, String(listening.port), String(queries)];
  const client = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'], timeout: 120_000 });
  client.stdin.end(JSON.stringify(asked));
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await once(client, 'close');
  const ms = performance.now() - startedAt;
  printRate('dns, UDP', before, queries, `; ${Math.round(queries / (ms / 1_000))}/s on the wall`);
}

async function changeRow(to: ClusterNames): Promise<void> {
  await admin.create(SERVICES, service('headless', { clusterIP: 'None' }));
  const slice = (address: string): EndpointSlice => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: 'headless-1', labels: { 'kubernetes.io/service-name': 'headless' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ port: 80 }],
  });
  let current = await admin.create(ENDPOINT_SLICES, slice('10.0.0.1'));
  const query = questionOf('headless.default.svc.cluster.local');
  const times: number[] = [];
  for (let i = 0; i < settings.changes; i++) {
    const address = `10.0.${1 + (i >> 8)}.${i % 256}`;
    current = await admin.update(ENDPOINT_SLICES, { ...slice(address), metadata: current.metadata });
    const startedAt = performance.now();
    const wanted = Buffer.from(address.split('.').map(Number));
    const has = async (): Promise<boolean> =>
      (await to.answer(query, '127.0.0.1'))?.subarray(-wanted.length).equals(wanted) === true;
    while (!(await has())) await nextTurn();
    times.push(performance.now() - startedAt);
  }
  const sorted = ascending(times);
  const note = `p99 ${percentile(sorted, 0.99).toFixed(1)}; from the answer of the API server to the first right answer`;
  printFigure({ row: 'dns, change', value: percentile(sorted, 0.5), unit: 'ms p50', note });
}
