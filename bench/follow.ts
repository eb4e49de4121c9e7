import { spawnSync } from 'node:child_process';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { printFigure } from './lib/figures.ts';
import { FOLLOW_ROWS, FOLLOWERS, type Followers, followRows } from './lib/follow-rows.ts';
import { calibrationUs } from './lib/own-cost.ts';

/**
 * The cost of one change for its followers: the same writes without followers of the API server, and with those of the
 * embedded form. One process each, memory store, no network. CPU time of the thread that does all of this, beside the
 * time of a fixed piece of work, because machines vary from minute to minute.
 */
const SETTINGS = {
  followers: { kind: 'string', help: `With commas: ${FOLLOWERS.join(', ')}`, default: FOLLOWERS.join(',') },
  rows: { kind: 'string', help: `With commas: ${FOLLOW_ROWS.join(', ')}`, default: FOLLOW_ROWS.join(',') },
  changes: { kind: 'integer', help: 'Objects of each round', default: 1000, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/follow.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const chosen = FOLLOWERS.filter((each) => settings.followers.split(',').includes(each));
const [only] = chosen;
if (only === undefined) throw new Error(`nobody of --followers ${settings.followers} is known`);
if (chosen.length === 1) await measure(only);
else for (const followers of chosen) inOwnProcess(followers);

async function measure(followers: Followers): Promise<void> {
  const before = calibrationUs();
  const rows = await followRows(followers, { rows: settings.rows.split(','), changes: settings.changes });
  const after = calibrationUs();
  for (const { row, us, note } of rows) {
    const calibrated = `fixed work ${before.toFixed(0)}, then ${after.toFixed(0)} us`;
    printFigure({ row, value: us, unit: 'us', note: `${followers}; ${note}; ${calibrated}` });
  }
}

/** A row in its own process cannot affect the compiled code of the next. */
function inOwnProcess(followers: Followers): void {
  const file = process.argv[1] ?? '';
  const own = ['--followers', followers, '--rows', settings.rows, '--changes', String(settings.changes)];
  const parameters = [...process.execArgv, file, ...own];
  const { status } = spawnSync(process.execPath, parameters, { stdio: 'inherit', timeout: 300_000 });
  if (status !== 0) process.exitCode = 1;
}
