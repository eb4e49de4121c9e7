import { generateKeyPairSync } from 'node:crypto';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import type { ApiRequest } from '../libs/client/src/index.ts';
import { createMemoryStore } from '../libs/store/src/memory/index.ts';
import { historyOptions } from '../services/apiserver/src/history/open.ts';
import { type ApiServer, createApiServer } from '../services/apiserver/src/index.ts';
import { coralDefinition, DEFINITIONS_PATH, REEF_NAMESPACE_PATH } from './lib/custom-objects.ts';
import { allocatedBytes, calibrationUs, middle } from './lib/own-cost.ts';
import { bare, NAMESPACE, PIPELINE_ROWS, PIPELINE_USERS, type PipelineRow, send } from './lib/pipeline-rows.ts';

/** Measures a request in the API server's pipeline alone: one process, memory store, no network, no followers. */
const SETTINGS = {
  cold: { kind: 'integer', help: 'Requests of each row in a fresh process', default: 5000, min: 1 },
  warm: { kind: 'integer', help: 'Requests of each row after that', default: 20_000, min: 0 },
  stretch: {
    kind: 'integer',
    help: 'So many objects go through all rows before the next ones come',
    default: 500,
    min: 1,
  },
  'in-flight': { kind: 'integer', help: 'Requests at one time', default: 16, min: 1 },
  history: { kind: 'boolean', help: 'Keep a history, in memory' },
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
  `${'request'.padEnd(24)} ${['us of CPU', 'bytes', 'calibration'].map((each) => each.padStart(11)).join(' ')}\n`,
);
await phase('cold', 0, settings.cold);
if (settings.warm > 0) await phase('warm', settings.cold, settings.warm);
await server.stop();

async function startServer(): Promise<ApiServer> {
  const random = createSeededRandom(1, 'bench');
  const deps = { clock: createSystemClock(), ids: createIds(random), log: createSilentLog() };
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const tokens = PIPELINE_USERS;
  const kept = { retentionMs: 3_600_000, limitBytes: 64 * 1024 * 1024 };
  const history = settings.history ? historyOptions(kept, undefined) : undefined;
  const store = createMemoryStore();
  const started = createApiServer({ ...deps, store, tokens, history, serviceAccounts: { signingKey } });
  await started.start();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await started.handle(send('admin', 'POST /api/v1/namespaces', namespace));
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await started.handle(send('admin', `POST /api/v1/namespaces/${NAMESPACE}/serviceaccounts`, account));
  await defineCorals(started);
  return started;
}

async function defineCorals(started: ApiServer): Promise<void> {
  await started.handle(send('admin', `POST ${DEFINITIONS_PATH}`, coralDefinition()));
  const clock = createSystemClock();
  const kind = bare('admin', `GET ${REEF_NAMESPACE_PATH}/${NAMESPACE}/corals`);
  while ((await started.handle(kind)).status !== 200) await clock.sleep(20);
}

/** An object is bound, changed and read soon after its create, as in a cluster, not after thousands of others. */
async function phase(when: string, first: number, count: number): Promise<void> {
  const calibration = calibrationUs();
  const spent = rows.map(() => ({ cpuUs: 0, steps: [] as number[] }));
  for (let at = 0; at < count; at += settings.stretch) {
    const size = Math.min(settings.stretch, count - at);
    for (const [i, row] of rows.entries()) {
      const cost = await costOf(row, first + at, size);
      spent[i]?.steps.push(...cost.steps);
      if (spent[i] !== undefined) spent[i].cpuUs += cost.cpuUs;
    }
  }
  for (const [i, { cpuUs, steps }] of spent.entries()) {
    const figures = [(cpuUs / count).toFixed(1), middle(steps).toFixed(0), calibration.toFixed(0)];
    const shown = figures.map((each) => each.padStart(11)).join(' ');
    process.stdout.write(`${`${when} ${rows[i]?.row ?? ''}`.padEnd(24)} ${shown}\n`);
  }
}

interface Cost {
  readonly cpuUs: number;
  /** Bytes that each request of a step took from the heap. */
  readonly steps: readonly number[];
}

async function costOf({ status, request }: PipelineRow, first: number, count: number): Promise<Cost> {
  const requests = Array.from({ length: count }, (_, i) => request(first + i));
  const bytes = allocatedBytes();
  const before = process.cpuUsage();
  for (let at = 0; at < count; at += settings['in-flight']) {
    const together = requests.slice(at, at + settings['in-flight']);
    await Promise.all(together.map((each) => answered(each, status)));
    bytes.step(together.length);
  }
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: user + system, steps: bytes.steps() };
}

/** The bytes of the answer belong to its cost: the network would ask for them. */
async function answered(request: ApiRequest, status: number): Promise<void> {
  const response = await server.handle(request);
  if (response.body.kind === 'json') response.body.bytes();
  if (response.status === status) return;
  throw new Error(`${request.method} ${request.path} answered ${response.status}: ${JSON.stringify(response.body)}`);
}
