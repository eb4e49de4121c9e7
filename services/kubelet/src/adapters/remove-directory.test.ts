import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { removeDirectory } from './remove-directory.ts';

/** More than are read at once. */
const FILES = 600;

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-remove-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function fill(path: string): void {
  mkdirSync(path, { recursive: true });
  for (let i = 0; i < FILES; i += 1) writeFileSync(join(path, `${i}`), '');
}

/** Aborts at the given look at it. */
function signalThatAborts(look: number): AbortSignal {
  const { signal } = new AbortController();
  let looks = 0;
  signal.throwIfAborted = () => {
    looks += 1;
    if (looks === look) throw new Error('stopped');
  };
  return signal;
}

test('a directory is removed with all that is in it, without following links', async (t) => {
  const folder = folderOf(t);
  const [outside, doomed] = [join(folder, 'outside'), join(folder, 'doomed')];
  mkdirSync(outside);
  writeFileSync(join(outside, 'data'), 'x');
  fill(join(doomed, 'a', 'b'));
  fill(doomed);
  for (const link of [join(doomed, 'link'), join(doomed, 'a', 'link')]) symlinkSync(outside, link);
  await removeDirectory(doomed);
  assert.deepEqual(readdirSync(folder), ['outside']);
  assert.ok(existsSync(join(outside, 'data')));
  await removeDirectory(doomed);
});

test('an aborted removal stops after the current entry, and the next one continues', async (t) => {
  const doomed = join(folderOf(t), 'doomed');
  fill(doomed);
  await assert.rejects(removeDirectory(doomed, signalThatAborts(11)), /stopped/);
  assert.equal(readdirSync(doomed).length, FILES - 9, 'the first look is at the directory, the eleventh aborts');
  await removeDirectory(doomed, new AbortController().signal);
  assert.equal(existsSync(doomed), false);
});
