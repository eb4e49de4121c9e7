import { loadavg } from 'node:os';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { CORPUS } from '../test/abuse/corpus.ts';
import { Attacker } from '../test/abuse/support/attacker.ts';
import { play, playable, playNothing, prepare } from '../test/abuse/support/play.ts';
import { AbusedApi } from '../test/support/abused-api.ts';
import { printFigure } from './lib/figures.ts';
import { calibrationUs } from './lib/own-cost.ts';

/**
 * Measures how long another user waits for a GET, and a node for its heartbeat, during each request of the hostile
 * corpus.
 */
const SETTINGS = {
  only: { kind: 'string', help: 'Requests whose name contains this', default: '' },
  'heap-mb': { kind: 'integer', help: 'Heap of the server', default: 1_024, min: 64 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const GET_GOAL_MS = 250;
const HEARTBEAT_GOAL_MS = 1_000;
const ALONE_MS = 5_000;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/bystanders.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
await using api = await AbusedApi.start({}, settings['heap-mb']);
await prepare(api);
await using attacker = await Attacker.start(api);
process.stdout.write(`${'GET ms'.padStart(8)} ${'beat ms'.padStart(8)} status  request\n`);
const gets: number[] = [];
const beats: number[] = [];
for (const hostile of playable(CORPUS).filter(({ name }) => name.includes(settings.only))) {
  const { longestGetMs, longestHeartbeatMs, statuses } = await play(api, attacker, hostile);
  gets.push(longestGetMs);
  beats.push(longestHeartbeatMs);
  const figures = [longestGetMs, longestHeartbeatMs].map((ms) => ms.toFixed(0).padStart(8)).join(' ');
  process.stdout.write(`${figures} ${`${statuses[0]}`.padStart(6)}  ${hostile.name}\n`);
}
const alone = await playNothing(api, ALONE_MS);
printFigure({
  row: 'nobody hostile: GET',
  value: alone.longestGetMs,
  unit: 'ms',
  note: `the part of this machine, longest of ${alone.served} requests`,
});
printFigure({
  row: 'fixed work',
  value: calibrationUs() / 1_000,
  unit: 'ms',
  note: `how fast this machine is just now; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
});
printLongest('others: GET', gets, GET_GOAL_MS);
printLongest('others: heartbeat', beats, HEARTBEAT_GOAL_MS);

/** The run fails when others waited for longer than wanted. */
function printLongest(row: string, waits: readonly number[], goalMs: number): void {
  const late = waits.filter((ms) => ms > goalMs).length;
  if (late > 0) process.exitCode = 1;
  const note = `longest beside ${waits.length} hostile requests; wanted ${goalMs} ms, missed beside ${late}`;
  printFigure({ row, value: Math.max(...waits), unit: 'ms', note });
}
