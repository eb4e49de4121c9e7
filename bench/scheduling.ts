import { readFileSync } from 'node:fs';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { type Figure, printFigure } from './lib/figures.ts';
import { startForm } from './lib/forms.ts';
import { SHAPES } from './lib/scheduling-objects.ts';
import { createNodes, fillNodes, latencyRow, preemptionRow, throughputRow } from './lib/scheduling-rows.ts';
import { cpuMs, residentMb, restedCpuMs } from './lib/server-process.ts';
import type { Target } from './lib/tls-connection.ts';

/**
 * Scheduling through the API: creates pods and watches them until they are bound. Nodes are only objects; nothing runs
 * the pods. With NODE_OPTIONS='--cpu-prof --cpu-prof-dir=profiles' driver and server write CPU profiles there.
 */
const SETTINGS = {
  form: { kind: 'string', help: 'Start a server for this run and end it after: sqlite, memory' },
  kubeconfig: { kind: 'string', help: 'Take server and token from this file', default: '.holdfast/kubeconfig' },
  nodes: { kind: 'integer', help: 'Nodes to create', default: 1000, min: 1 },
  pods: { kind: 'integer', help: 'Pods of a throughput row', default: 5000, min: 1 },
  rows: {
    kind: 'string',
    help: `With commas: ${SHAPES.join(', ')}, latency, preempt`,
    default: 'plain,spread,latency',
  },
  preemptions: {
    kind: 'integer',
    help: 'Pods of the row preempt, in a run of its own: the pods of other rows take room',
    default: 500,
    min: 1,
  },
  rate: { kind: 'integer', help: 'Pods per second of the latency row', default: 200, min: 1 },
  connections: { kind: 'integer', help: 'Connections that create pods', default: 32, min: 1, max: 1000 },
  pid: { kind: 'integer', help: 'Process of the server, for its memory and its time on the cores' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const LATENCY_SECONDS = 10;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/scheduling.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const started = settings.form === undefined ? undefined : await start(settings.form);
try {
  const pid = started?.pid ?? settings.pid;
  await runRows(readTarget(started?.kubeconfig ?? settings.kubeconfig), pid);
  if (pid !== undefined) printFigure({ row: 'memory', value: residentMb(pid), unit: 'MB RSS', note: 'after all rows' });
} finally {
  await started?.stop();
}

function start(form: string): ReturnType<typeof startForm> {
  if (form !== 'sqlite' && form !== 'memory') throw new Error('--form takes sqlite or memory');
  return startForm(form, ['--nodes', '0', '--without', 'controllers']);
}

async function runRows(target: Target, pid: number | undefined): Promise<void> {
  await createNodes(target, settings.nodes);
  for (const row of settings.rows.split(',')) {
    const run = await prepare(target, row);
    const before = pid === undefined ? 0 : await restedCpuMs(pid);
    const figures = await run();
    const used = pid === undefined ? 0 : cpuMs(pid) - before;
    const later = pid === undefined ? 0 : (await restedCpuMs(pid)) - before - used;
    for (const figure of figures) printFigure(withCost(figure, used, later));
  }
}

async function prepare(target: Target, row: string): Promise<() => Promise<readonly Figure[]>> {
  const { nodes, pods, preemptions, connections, rate } = settings;
  if (row === 'latency') return () => latencyRow(target, { rate, pods: rate * LATENCY_SECONDS });
  if (row === 'preempt') {
    const load = { nodes, pods: preemptions, connections };
    const fillers = await fillNodes(target, load);
    return () => preemptionRow(target, fillers, load);
  }
  const shape = SHAPES.find((each) => each === row);
  if (shape === undefined) throw new Error(`there is no row ${row}`);
  return () => throughputRow(target, { shape, pods, connections });
}

/** Events are written after the pods they are about: they are part of the cost, and not of the next row. */
function withCost(figure: Figure, usedMs: number, laterMs: number): Figure {
  const { operations = 0, note } = figure;
  if (operations === 0 || usedMs === 0) return figure;
  const each = (ms: number): string => ((ms * 1000) / operations).toFixed(0);
  return {
    ...figure,
    note: `${note}; ${each(usedMs)} us of the server's cores each, and ${each(laterMs)} us after that`,
  };
}

function readTarget(kubeconfig: string): Target {
  const text = readFileSync(kubeconfig, 'utf8');
  const url = new URL(/server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '');
  return { host: url.hostname, port: Number(url.port), token: /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '' };
}
