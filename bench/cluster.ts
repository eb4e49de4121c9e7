import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { type Cluster, startCluster } from '../services/cluster/src/index.ts';
import { printFigure } from './lib/figures.ts';
import { middle } from './lib/own-cost.ts';

/** What one more cluster of `@holdfast/cluster` in a process costs: start, fork, memory. */
const SETTINGS = {
  clusters: { kind: 'integer', help: 'Clusters of each kind', default: 30, min: 2 },
  objects: { kind: 'integer', help: 'Objects in the cluster that is forked', default: 1000, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/cluster.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

await one('first start', () => startCluster());
await row('start', () => startCluster());
await row('start, virtual time', () => startCluster({ clock: 'virtual' }));
await row('start, 1 hollow node', () => startCluster({ hollowNodes: 1 }));
await row('start, HTTPS port', () => startCluster({ https: true }));
await forks(10);
await forks(settings.objects);

async function forks(objects: number): Promise<void> {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 3 });
  for (let i = 0; i < objects; i++) {
    const body = JSON.stringify({ metadata: { name: `map-${i}` }, data: { key: 'x'.repeat(100) } });
    await cluster.fetch('/api/v1/namespaces/default/configmaps', { method: 'POST', body });
  }
  await cluster.advance('10s');
  const snapshots = [];
  for (let i = 0; i < settings.clusters; i++) {
    const before = performance.now();
    await cluster.snapshot();
    snapshots.push(performance.now() - before);
  }
  printFigure({ row: 'snapshot', value: middle(snapshots), unit: 'ms', note: `${objects} objects` });
  const snapshot = await cluster.snapshot();
  await row(`fork, ${objects} objects`, () => snapshot.fork());
  await row(`fork, ${objects} objects, API server only`, () =>
    snapshot.fork({ without: ['scheduler', 'controllers'] }),
  );
  await oneByOne(`fork for a test, ${objects} objects`, () => snapshot.fork());
}

/** As a suite does: each is stopped before the next one starts. */
async function oneByOne(name: string, start: () => Promise<Cluster>): Promise<void> {
  const [wall, starts, stops]: [number[], number[], number[]] = [[], [], []];
  const cpuSince = (used: NodeJS.CpuUsage): number => {
    const { user, system } = process.cpuUsage(used);
    return (user + system) / 1000;
  };
  for (let i = 0; i < 2 * settings.clusters; i++) {
    const used = process.cpuUsage();
    const before = performance.now();
    const cluster = await start();
    wall.push(performance.now() - before);
    starts.push(cpuSince(used));
    const stopping = process.cpuUsage();
    await cluster.stop();
    stops.push(cpuSince(stopping));
  }
  const note = `median of ${wall.length}, best ${Math.min(...wall).toFixed(1)}; ${middle(starts).toFixed(1)} ms of CPU, its stop ${middle(stops).toFixed(1)}`;
  printFigure({ row: name, value: middle(wall), unit: 'ms', note });
}

async function one(name: string, start: () => Promise<Cluster>): Promise<void> {
  const before = performance.now();
  await using _ = await start();
  printFigure({ row: name, value: performance.now() - before, unit: 'ms', note: 'with the modules already loaded' });
}

/** They all run at one time at the end of the row. */
async function row(name: string, start: () => Promise<Cluster>): Promise<void> {
  await (await start()).stop();
  const running: Cluster[] = [];
  const wall: number[] = [];
  const cpu: number[] = [];
  collect();
  const heap = process.memoryUsage().heapUsed;
  const rss = process.memoryUsage.rss();
  for (let i = 0; i < settings.clusters; i++) {
    const used = process.cpuUsage();
    const before = performance.now();
    running.push(await start());
    wall.push(performance.now() - before);
    const { user, system } = process.cpuUsage(used);
    cpu.push((user + system) / 1000);
  }
  collect();
  const each = (bytes: number): string => (bytes / 2 ** 20 / settings.clusters).toFixed(1);
  const note = `median of ${settings.clusters}; ${middle(cpu).toFixed(0)} ms of CPU; each ${each(process.memoryUsage().heapUsed - heap)} MB of heap, ${each(process.memoryUsage.rss() - rss)} MB RSS`;
  printFigure({ row: name, value: middle(wall), unit: 'ms', note });
  for (const cluster of running) await cluster.stop();
}
