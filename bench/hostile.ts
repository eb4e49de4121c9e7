import { fork } from 'node:child_process';
import path from 'node:path';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { CORPUS } from '../test/abuse/corpus.ts';
import { printFigure } from './lib/figures.ts';
import type { Held } from './lib/hostile-main.ts';

/** Measures how long each request of the hostile corpus blocks the thread of the API server. */
const SETTINGS = {
  only: { kind: 'string', help: 'Requests whose name contains this', default: '' },
  over: { kind: 'integer', help: 'Print only what holds the thread for so many milliseconds', default: 0, min: 0 },
  seconds: { kind: 'integer', help: 'Give up a request after this', default: 60, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

/** Half of another user's maximum wait for a GET: the rest is for earlier requests. */
const HOLD_GOAL_MS = 125;

const MAIN = path.resolve(import.meta.dirname, 'lib/hostile-main.ts');
const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/hostile.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const names = CORPUS.map(({ name }) => name).filter((name) => name.includes(settings.only));
process.stdout.write(`${'held ms'.padStart(8)} ${'all ms'.padStart(8)} status  request\n`);
const holds: Held[] = [];
for (let at = 0; at < names.length; ) at += await measureFrom(names.slice(at));
const [longest] = holds.toSorted((a, b) => b.heldMs - a.heldMs);
const late = holds.filter(({ heldMs }) => heldMs > HOLD_GOAL_MS).length;
printFigure({
  row: 'longest hold',
  value: longest?.heldMs ?? 0,
  unit: 'ms',
  note: `${longest?.name ?? ''}; wanted ${HOLD_GOAL_MS} ms, missed by ${late} of ${holds.length}`,
});
if (late > 0) process.exitCode = 1;

/** One process for as many requests as it survives: with the memory and compiled code of a running server. */
function measureFrom(left: readonly string[]): Promise<number> {
  const child = fork(MAIN, [], { execArgv: [...process.execArgv, '--disable-warning=ExperimentalWarning'] });
  const { promise, resolve } = Promise.withResolvers<number>();
  let done = 0;
  const giveUp = (): void => {
    print({ name: left[done] ?? '', heldMs: settings.seconds * 1_000, allMs: settings.seconds * 1_000, status: 0 });
    child.kill('SIGKILL');
  };
  let deadline = setTimeout(giveUp, settings.seconds * 1_000);
  child.on('message', (held: Held) => {
    clearTimeout(deadline);
    print(held);
    done += 1;
    if (done === left.length) child.kill('SIGKILL');
    else deadline = setTimeout(giveUp, settings.seconds * 1_000);
  });
  child.on('exit', () => {
    clearTimeout(deadline);
    // A request that ended the process or took too long is not repeated.
    resolve(Math.min(done + 1, left.length));
  });
  child.send(left);
  return promise;
}

function print(held: Held): void {
  const { name, heldMs, allMs, status } = held;
  holds.push(held);
  if (heldMs < settings.over) return;
  process.stdout.write(
    `${heldMs.toFixed(0).padStart(8)} ${allMs.toFixed(0).padStart(8)} ${`${status}`.padStart(6)}  ${name}\n`,
  );
}
