import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { deliveriesRow, latencyRow } from './lib/fan-out.ts';
import { type Figure, fsyncMs, printFigure } from './lib/figures.ts';
import { FORMS, type Form, startForm } from './lib/forms.ts';
import { calibrationUs } from './lib/own-cost.ts';
import {
  CUSTOM_RESOURCES,
  createRow,
  deleteRow,
  getRow,
  labelListRow,
  listRow,
  patchRow,
  prepareDefinition,
  prepareNamespace,
} from './lib/rows.ts';
import { cpuMs, residentMb } from './lib/server-process.ts';
import type { Target } from './lib/tls-connection.ts';

/** Load against any Kubernetes API. Talks to one server over TLS with a bearer token; certificates are not checked. */
const SETTINGS = {
  form: { kind: 'string', help: `Start a server for this run and end it after: ${FORMS.join(', ')}` },
  kubeconfig: { kind: 'string', help: 'Take server and token from this file', default: '.holdfast/kubeconfig' },
  server: { kind: 'string', help: 'URL of the API (https://host:port)' },
  token: { kind: 'string', help: 'Bearer token' },
  objects: { kind: 'integer', help: 'Objects to create', default: 5000, min: 1 },
  connections: { kind: 'integer', help: 'Connections', default: 32, min: 1, max: 1000 },
  'warm-up': {
    kind: 'integer',
    help: 'Rounds of all rows before those that count; the first is printed as "fresh"',
    default: 2,
    min: 0,
    max: 100,
  },
  watchers: { kind: 'integer', help: 'Watchers of the fan-out', default: 100, min: 1 },
  events: { kind: 'integer', help: 'Events of the fan-out', default: 200, min: 1 },
  custom: { kind: 'boolean', help: 'Also create, list, patch and delete custom resources' },
  pid: { kind: 'integer', help: 'Process of the server, for its memory and its time on the cores' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

/** A started server has this long to come to rest before its memory counts as idle. */
const SETTLE_MS = 2_000;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/main.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const ROOM = ['--min-semi-space-size=64', '--max-semi-space-size=64'];
if (!ROOM.every((flag) => process.execArgv.includes(flag))) process.exit(runWithRoom());
const form = readForm(settings.form);
const started = form === undefined ? undefined : await startForm(form);
try {
  const pid = started?.pid ?? settings.pid;
  printFigure({ row: 'fsync', value: fsyncMs(tmpdir()), unit: 'ms', note: 'median of 200 on this disk' });
  printFigure({
    row: 'fixed work',
    value: calibrationUs() / 1_000,
    unit: 'ms',
    note: 'how fast this machine is just now',
  });
  if (started !== undefined) {
    printFigure({ row: 'start', value: started.startMs / 1000, unit: 's', note: `until ready, ${settings.form}` });
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    printMemory('idle memory', started.pid);
  }
  await runRows(readTarget(started?.kubeconfig ?? settings.kubeconfig), pid);
  if (pid !== undefined) printMemory('memory after load', pid);
} finally {
  await started?.stop();
}

type Row = () => Promise<Figure>;

async function runRows(target: Target, pid: number | undefined): Promise<void> {
  const { connections, objects, watchers, events } = settings;
  const load = { target, connections, objects };
  const fanOut = { target, watchers, events };
  await prepareNamespace(load);
  if (settings.custom) await prepareDefinition(load);
  const rows: readonly Row[] = [
    ...[createRow, getRow, listRow, labelListRow, patchRow].map((row) => () => row(load)),
    () => latencyRow(fanOut),
    () => deliveriesRow(fanOut),
    () => deleteRow(load),
    ...(settings.custom
      ? [createRow, listRow, patchRow, deleteRow].map((row) => () => row(load, CUSTOM_RESOURCES))
      : []),
  ];
  await warmUp(rows, pid);
  for (const row of rows) printFigure(await measured(row, pid));
}

/** V8 continues to compile during the first ten thousands of requests. The warm-up does no harm to other servers. */
async function warmUp(rows: readonly Row[], pid: number | undefined): Promise<void> {
  for (let round = 0; round < settings['warm-up']; round++) {
    for (const row of rows) {
      const figure = await measured(row, pid);
      if (round === 0) printFigure({ ...figure, row: `fresh ${figure.row}` });
    }
  }
}

async function measured(row: Row, pid: number | undefined): Promise<Figure> {
  collectOwnRubbish();
  if (pid === undefined) return row();
  const before = cpuMs(pid);
  const figure = await row();
  return { ...figure, note: `${figure.note}${costOf(figure, cpuMs(pid) - before)}` };
}

/** The driver's garbage collections would count as the server's: the events of a row fit into its young generation. */
function runWithRoom(): number {
  const { status } = spawnSync(process.execPath, [...process.execArgv, ...ROOM, ...process.argv.slice(1)], {
    stdio: 'inherit',
  });
  return status ?? 1;
}

function collectOwnRubbish(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

function costOf({ operations = 0 }: Figure, usedMs: number): string {
  return operations === 0 ? '' : `; ${((usedMs * 1000) / operations).toFixed(0)} us of the server's cores each`;
}

function printMemory(row: string, pid: number): void {
  printFigure({ row, value: residentMb(pid), unit: 'MB RSS', note: `process ${pid}` });
}

function readForm(text: string | undefined): Form | undefined {
  const known = FORMS.find((each) => each === text);
  if (text === undefined || known !== undefined) return known;
  process.stderr.write(`--form takes one of ${FORMS.join(', ')}, not "${text}"\n`);
  process.exit(2);
}

function readTarget(kubeconfig: string): Target {
  const text = settings.server === undefined ? readFileSync(kubeconfig, 'utf8') : '';
  const server = settings.server ?? /server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
  const token = settings.token ?? /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
  const url = new URL(server);
  return { host: url.hostname, port: Number(url.port), token };
}
