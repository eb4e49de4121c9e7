import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createSystemClock } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { type Figure, printFigure } from './lib/figures.ts';
import { InspectedServer } from './lib/inspected-server.ts';
import { createReadyNodes, fillRow, LISTS, listPodsRow, type ScaleLoad } from './lib/scale-rows.ts';
import { cpuMs, peakResidentMb, residentMb, restedCpuMs } from './lib/server-process.ts';

/**
 * Many nodes and pods in one embedded server: the rate at which pods are created and bound, memory, lists of all pods, and on SQLite
 * a restart. Nobody runs the pods. Sizes of the goal: `--nodes 5000 --pods 150000`.
 */
const SETTINGS = {
  form: { kind: 'enum', values: ['sqlite', 'memory'], help: 'Where the objects are', default: 'sqlite' },
  nodes: { kind: 'integer', help: 'Nodes to create', default: 500, min: 1 },
  pods: { kind: 'integer', help: 'Pods to create', default: 10_000, min: 1 },
  namespaces: { kind: 'integer', help: 'Namespaces of the pods', default: 10, min: 1 },
  'per-replica-set': {
    kind: 'integer',
    help: 'Pods of one ReplicaSet; 0: pods of nobody, which the bench creates. Needs controllers',
    default: 100,
    min: 0,
  },
  without: { kind: 'string', help: 'Parts to leave out: controllers' },
  profile: { kind: 'string', help: 'Folder for CPU profiles of the main thread and a heap snapshot' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

/** Nobody sends heartbeats of the nodes. */
const GRACE_SECONDS = '3600';
const STORE_LIMIT_MB = '2048';

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/scale.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-scale-'));
try {
  await runFresh();
  if (settings.form === 'sqlite') await runAgain();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function startServer(): Promise<InspectedServer> {
  const parts = settings.without === undefined ? [] : ['--without', settings.without];
  const limits = ['--node-monitor-grace-seconds', GRACE_SECONDS, '--store-limit-mb', STORE_LIMIT_MB];
  return InspectedServer.start(settings.form, directory, ['--nodes', '0', ...limits, ...parts]);
}

async function runFresh(): Promise<void> {
  await using server = await startServer();
  const { target, pid, inspector } = server;
  const { nodes, pods, namespaces } = settings;
  const load: ScaleLoad = { target, nodes, pods, namespaces, perReplicaSet: settings['per-replica-set'] };
  await printMemory('memory, empty', server);
  const now = new Date(createSystemClock().now()).toISOString();
  await costed(pid, () => createReadyNodes(load, now));
  await printMemory('memory, nodes', server);
  if (settings.profile !== undefined) await inspector.startProfile();
  await costed(pid, () => fillRow(load));
  await restedCpuMs(pid);
  if (settings.profile !== undefined) keepProfile('fill', await inspector.stopProfile());
  await printMemory('memory, pods', server);
  if (settings.profile !== undefined) await inspector.writeSnapshot(path.join(settings.profile, 'pods.heapsnapshot'));
  await lists(server);
  await printMemory('memory, listed', server);
}

/** The same data in a new process. */
async function runAgain(): Promise<void> {
  await using server = await startServer();
  const readyMs = cpuMs(server.pid);
  const restedMs = await restedCpuMs(server.pid);
  const note = `until ready; ${readyMs} ms on the cores, ${restedMs} ms until nothing is left to do`;
  printFigure({ row: 'restart', value: server.startMs / 1000, unit: 's', note });
  printFigure({ row: 'peak', value: peakResidentMb(server.pid), unit: 'MB RSS', note: 'until ready' });
  await lists(server);
  await restedCpuMs(server.pid);
  await printMemory('memory, restarted', server);
}

async function lists({ target, pid }: InspectedServer): Promise<void> {
  for (const list of LISTS) {
    for (const round of ['first', 'second']) {
      const before = await restedCpuMs(pid);
      const figure = await listPodsRow(target, list);
      const note = `${round}; ${figure.note}; ${(cpuMs(pid) - before).toFixed(0)} ms of the server's cores`;
      printFigure({ ...figure, note });
    }
  }
}

async function costed(pid: number, row: () => Promise<Figure>): Promise<void> {
  const before = await restedCpuMs(pid);
  const figure = await row();
  const used = cpuMs(pid) - before;
  const later = (await restedCpuMs(pid)) - before - used;
  const each = (ms: number): string => `${((ms * 1000) / (figure.operations ?? 1)).toFixed(0)} us`;
  const note = `${figure.note}; ${each(used)} of the server's cores each, and ${each(later)} after that`;
  printFigure({ ...figure, note });
}

async function printMemory(row: string, { pid, inspector }: InspectedServer): Promise<void> {
  const { usedMb, externalMb } = await inspector.heapUsage();
  const parts = `heap ${usedMb.toFixed(0)}, buffers ${externalMb.toFixed(0)}, peak RSS ${peakResidentMb(pid).toFixed(0)}`;
  printFigure({ row, value: residentMb(pid), unit: 'MB RSS', note: `after a collection; ${parts}` });
}

function keepProfile(name: string, profile: string): void {
  writeFileSync(path.join(settings.profile ?? '.', `${name}.cpuprofile`), profile);
}
