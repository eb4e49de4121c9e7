import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { NODES, PODS } from '../libs/api/src/index.ts';
import { createScheduler } from '../services/scheduler/src/index.ts';
import { clearTaints, startSchedulerCluster } from '../test/support/scheduler-cluster.ts';
import { printFigure } from './lib/figures.ts';
import { SHAPES, type Shape, schedulingNode, schedulingPod } from './lib/scheduling-objects.ts';

/**
 * The scheduler with its bindings: all pods exist before it starts, so that it is the only client of the API. One
 * process, memory store, no network; the CPU time includes the API server's work for bindings and events.
 */
const SETTINGS = {
  nodes: { kind: 'integer', help: 'Nodes', default: 1000, min: 1 },
  pods: { kind: 'integer', help: 'Pods', default: 5000, min: 1 },
  shapes: { kind: 'string', help: `With commas: ${SHAPES.join(', ')}`, default: SHAPES.join(',') },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const DEADLINE_MS = 120_000;
const CREATED_AT_ONCE = 50;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/scheduling-alone.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
for (const shape of SHAPES) if (settings.shapes.split(',').includes(shape)) await bindRow(shape);

async function bindRow(shape: Shape): Promise<void> {
  await using cluster = await startSchedulerCluster(0);
  const { admin, clientOf } = cluster;
  const { nodes, pods } = settings;
  await inChunks(nodes, async (i) => {
    const node = schedulingNode(i);
    const name = node.metadata.name ?? '';
    await admin.create(NODES, node);
    await clearTaints(admin, name);
  });
  await inChunks(pods, async (i) => void (await admin.create(PODS, schedulingPod(shape, i))));
  const clock = createSystemClock();
  const random = createSeededRandom(1, 'bench');
  const deps = { clock, random, ids: createIds(random), log: createSilentLog() };
  const scheduler = createScheduler({ ...deps, client: clientOf('scheduler') });
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await scheduler.start();
  while (scheduler.counters().bound < pods && performance.now() - startedAt < DEADLINE_MS) await clock.sleep(1);
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  const { bound } = scheduler.counters();
  await scheduler.stop();
  const note = `${bound} of ${pods} pods on ${nodes} nodes, all there before; ${((user + system) / pods).toFixed(0)} us of CPU each`;
  printFigure({ row: `bind, ${shape}`, value: bound / (ms / 1000), unit: 'pods/s', note });
}

async function inChunks(count: number, step: (index: number) => Promise<void>): Promise<void> {
  for (let start = 0; start < count; start += CREATED_AT_ONCE) {
    const size = Math.min(CREATED_AT_ONCE, count - start);
    await Promise.all(Array.from({ length: size }, (_, k) => step(start + k)));
  }
}
