import { fork } from 'node:child_process';
import path from 'node:path';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { CORPUS } from '../test/abuse/corpus.ts';
import type { Held } from './lib/hostile-main.ts';

/** How long each request of the hostile corpus holds the thread of the API server without letting anybody else in. */
const SETTINGS = {
  only: { kind: 'string', help: 'Requests whose name contains this', default: '' },
  over: { kind: 'integer', help: 'Print only what holds the thread for so many milliseconds', default: 0, min: 0 },
  seconds: { kind: 'integer', help: 'Give up a request after this', default: 60, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const MAIN = path.resolve(import.meta.dirname, 'lib/hostile-main.ts');
const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/hostile.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const names = CORPUS.map(({ name }) => name).filter((name) => name.includes(settings.only));
process.stdout.write(`${'held ms'.padStart(8)} ${'all ms'.padStart(8)} status  request\n`);
for (let at = 0; at < names.length; ) at += await measureFrom(names.slice(at));

/** One process for as many as it survives: the memory and the compiled code of a server that lives. */
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
    // What ended the process or took too long is not tried again.
    resolve(Math.min(done + 1, left.length));
  });
  child.send(left);
  return promise;
}

function print({ name, heldMs, allMs, status }: Held): void {
  if (heldMs < settings.over) return;
  process.stdout.write(
    `${heldMs.toFixed(0).padStart(8)} ${allMs.toFixed(0).padStart(8)} ${`${status}`.padStart(6)}  ${name}\n`,
  );
}
