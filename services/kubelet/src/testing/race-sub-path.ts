import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '@holdfast/platform';
import { openSubPath } from '../adapters/sub-path.ts';
import { VolumeError } from '../domain/volume-files.ts';

export interface RaceResult {
  readonly rounds: number;
  /** Rounds that found the place of the volume, and those that were refused. Both happen when the swaps hit. */
  readonly opened: number;
  readonly refused: number;
  /** Failures: something was created, changed or found outside of the volume. */
  readonly escapes: readonly string[];
}

/** A pod that exchanges a directory of its volume for a link to the machine, as fast as it can. */
const SWAP = `
const { mkdirSync, renameSync, rmSync, symlinkSync } = require('node:fs');
const [, directory, link, place, outside] = process.argv;
const begin = () => {
  for (const path of [directory, link, place]) rmSync(path, { recursive: true, force: true });
  mkdirSync(place);
  symlinkSync(outside, link);
};
const swap = () => {
  renameSync(place, directory); renameSync(link, place);
  renameSync(place, link); renameSync(directory, place);
};
for (;;) {
  // The other side may have made what was away for a moment.
  try { begin(); for (let count = 0; count < 1000; count++) swap(); } catch {}
}`;

/** Opens a subPath repeatedly while its volume is changed. `more` returns whether another round follows. */
export async function raceSubPath(more: (round: number) => boolean): Promise<RaceResult> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-race-')));
  const [volume, outside] = [join(root, 'volume'), join(root, 'outside')];
  mkdirSync(volume);
  mkdirSync(outside, { mode: 0o700 });
  const names = ['directory', 'link', 'place'].map((name) => join(volume, name));
  const swapper = spawn(process.execPath, ['-e', SWAP, ...names, outside], { stdio: 'ignore' });
  const ended = new Promise((resolve) => swapper.once('exit', resolve));
  try {
    return await play({ volume, outside, more });
  } finally {
    swapper.kill('SIGKILL');
    await ended;
    rmSync(root, { recursive: true, force: true });
  }
}

async function play(race: {
  readonly volume: string;
  readonly outside: string;
  readonly more: (round: number) => boolean;
}): Promise<RaceResult> {
  const { volume, outside, more } = race;
  const escapes: string[] = [];
  let [round, opened, refused] = [0, 0, 0];
  for (; more(round); round++) {
    try {
      const found = await openSubPath(volume, `place/made-${round % 7}`, { make: true });
      opened++;
      if (found.path !== volume && !found.path.startsWith(`${volume}/`)) escapes.push(`found ${found.path}`);
      found.close();
    } catch (error) {
      if (!(error instanceof VolumeError)) throw error;
      refused++;
    }
    for (const name of readdirSync(outside)) escapes.push(`made ${name}`);
    if ((statSync(outside).mode & 0o777) !== 0o700) escapes.push('changed the mode');
    if (escapes.length > 0) break;
  }
  return { rounds: round, opened, refused, escapes };
}

/** `node services/kubelet/src/testing/race-sub-path.ts 10`: for so many seconds. */
if (import.meta.main) {
  const clock = createSystemClock();
  const until = clock.monotonic() + Number(process.argv[2] ?? '10') * 1000;
  const result = await raceSubPath(() => clock.monotonic() < until);
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exitCode = result.escapes.length === 0 ? 0 : 1;
}
