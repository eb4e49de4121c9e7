import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import type { Target } from './lib/connection.ts';
import { fanOutRows } from './lib/fan-out.ts';
import { type Figure, fsyncMs, printFigures } from './lib/figures.ts';
import {
  createRow,
  deleteRow,
  getRow,
  type Load,
  labelListRow,
  listRow,
  patchRow,
  prepareNamespace,
} from './lib/rows.ts';

/** Load against any Kubernetes API. Talks to one server over TLS with a bearer token; certificates are not checked. */
const SETTINGS = {
  kubeconfig: { kind: 'string', help: 'Take server and token from this file', default: '.holdfast/kubeconfig' },
  server: { kind: 'string', help: 'URL of the API (https://host:port)' },
  token: { kind: 'string', help: 'Bearer token' },
  objects: { kind: 'integer', help: 'ConfigMaps to create', default: 5000, min: 1 },
  connections: { kind: 'integer', help: 'Connections', default: 32, min: 1, max: 1000 },
  watchers: { kind: 'integer', help: 'Watchers of the fan-out', default: 100, min: 1 },
  events: { kind: 'integer', help: 'Events of the fan-out', default: 200, min: 1 },
  pid: { kind: 'integer', help: 'Process whose memory is printed at the end' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/main.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const target = readTarget();
const load: Load = { target, connections: settings.connections, objects: settings.objects };
const figures: Figure[] = [{ row: 'fsync', value: fsyncMs(tmpdir()), unit: 'ms', note: 'median of 200 on this disk' }];
await prepareNamespace(load);
for (const row of [createRow, getRow, listRow, labelListRow, patchRow]) figures.push(await row(load));
figures.push(...(await fanOutRows({ target, watchers: settings.watchers, events: settings.events, writers: 8 })));
figures.push(await deleteRow(load));
if (settings.pid !== undefined) figures.push(memoryRow(settings.pid));
printFigures(figures);

function readTarget(): Target {
  const text = settings.server === undefined ? readFileSync(settings.kubeconfig, 'utf8') : '';
  const server = settings.server ?? /server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
  const token = settings.token ?? /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '';
  const url = new URL(server);
  return { host: url.hostname, port: Number(url.port), token };
}

function memoryRow(pid: number): Figure {
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { row: 'memory', value: kilobytes / 1024, unit: 'MB RSS', note: `process ${pid}` };
}
