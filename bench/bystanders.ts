import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { CORPUS } from '../test/abuse/corpus.ts';
import { play, playable, prepare } from '../test/abuse/support/play.ts';
import { AbusedApi } from '../test/support/abused-api.ts';

/** How long another user waits for a GET, and a node for its heartbeat, while each request of the hostile corpus is served. */
const SETTINGS = {
  only: { kind: 'string', help: 'Requests whose name contains this', default: '' },
  'heap-mb': { kind: 'integer', help: 'Heap of the server', default: 1_024, min: 64 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const GET_GOAL_MS = 250;
const HEARTBEAT_GOAL_MS = 1_000;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/bystanders.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
await using api = await AbusedApi.start({}, settings['heap-mb']);
await prepare(api);
process.stdout.write(`${'GET ms'.padStart(8)} ${'beat ms'.padStart(8)} status  request\n`);
const gets: number[] = [];
const beats: number[] = [];
for (const hostile of playable(CORPUS).filter(({ name }) => name.includes(settings.only))) {
  const { longestGetMs, longestHeartbeatMs, statuses } = await play(api, hostile);
  gets.push(longestGetMs);
  beats.push(longestHeartbeatMs);
  const figures = [longestGetMs, longestHeartbeatMs].map((ms) => ms.toFixed(0).padStart(8)).join(' ');
  process.stdout.write(`${figures} ${`${statuses[0]}`.padStart(6)}  ${hostile.name}\n`);
}
process.stdout.write(
  `longest: GET ${Math.max(...gets).toFixed(0)} ms (goal ${GET_GOAL_MS}, passed by ${gets.filter((ms) => ms > GET_GOAL_MS).length} of ${gets.length}), ` +
    `heartbeat ${Math.max(...beats).toFixed(0)} ms (goal ${HEARTBEAT_GOAL_MS}, passed by ${beats.filter((ms) => ms > HEARTBEAT_GOAL_MS).length})\n`,
);
