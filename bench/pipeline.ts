import { generateKeyPairSync } from 'node:crypto';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import type { ApiRequest } from '../libs/client/src/index.ts';
import { createMemoryStore } from '../libs/store/src/memory/index.ts';
import { type ApiServer, createApiServer } from '../services/apiserver/src/index.ts';
import { allocatedBytes, calibrationUs } from './lib/own-cost.ts';
import { NAMESPACE, PIPELINE_ROWS, PIPELINE_USERS, type PipelineRow, send } from './lib/pipeline-rows.ts';

/** What a request costs in the API server's pipeline alone: one process, memory store, no network, nobody who follows. */
const SETTINGS = {
  cold: { kind: 'integer', help: 'Requests of each row in a fresh process', default: 5000, min: 1 },
  warm: { kind: 'integer', help: 'Requests of each row after that', default: 20_000, min: 0 },
  'in-flight': { kind: 'integer', help: 'Requests at one time', default: 16, min: 1 },
  rows: { kind: 'string', help: 'Rows whose name contains this', default: '' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/pipeline.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const rows = PIPELINE_ROWS.filter(({ row }) => row.includes(settings.rows));
const server = await startServer();
process.stdout.write(
  `${'request'.padEnd(20)} ${['us of CPU', 'bytes', 'calibration'].map((each) => each.padStart(12)).join('')}\n`,
);
for (const row of rows) await measure(row, 'cold', 0, settings.cold);
for (const row of rows) if (settings.warm > 0) await measure(row, 'warm', settings.cold, settings.warm);
await server.stop();

async function startServer(): Promise<ApiServer> {
  const random = createSeededRandom(1, 'bench');
  const deps = { clock: createSystemClock(), ids: createIds(random), log: createSilentLog() };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const tokens = PIPELINE_USERS;
  const started = createApiServer({ ...deps, store: createMemoryStore(), tokens, serviceAccounts: { signingKey } });
  await started.start();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await started.handle(send('admin', 'POST /api/v1/namespaces', namespace));
  return started;
}

async function measure(
  { row, status, request }: PipelineRow,
  when: string,
  first: number,
  count: number,
): Promise<void> {
  const requests = Array.from({ length: count }, (_, i) => request(first + i));
  const calibration = calibrationUs();
  const bytes = allocatedBytes();
  const before = process.cpuUsage();
  for (let at = 0; at < count; at += settings['in-flight']) {
    await Promise.all(requests.slice(at, at + settings['in-flight']).map((each) => answered(each, status)));
    bytes.step();
  }
  const { user, system } = process.cpuUsage(before);
  const figures = [
    ((user + system) / count).toFixed(1),
    bytes.each(settings['in-flight']).toFixed(0),
    calibration.toFixed(0),
  ];
  process.stdout.write(`${`${when} ${row}`.padEnd(24)} ${figures.map((each) => each.padStart(11)).join(' ')}\n`);
}

/** The bytes of the answer belong to its cost: the network would ask for them. */
async function answered(request: ApiRequest, status: number): Promise<void> {
  const response = await server.handle(request);
  if (response.body.kind === 'json') response.body.bytes();
  if (response.status === status) return;
  throw new Error(`${request.method} ${request.path} answered ${response.status}: ${JSON.stringify(response.body)}`);
}
