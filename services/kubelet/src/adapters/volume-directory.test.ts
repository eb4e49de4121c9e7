import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { VolumeFile } from '../domain/volume-files.ts';
import { makeEmptyDirectory, useHostPath, writeVolume } from './volume-directory.ts';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-volume-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

test('an emptyDir is created once: a mode set by its pod survives later checks', async (t) => {
  const volumes = join(directory(t), 'volumes');
  const path = join(volumes, 'data');
  await makeEmptyDirectory(path);
  assert.equal(modeOf(path), '777');
  chmodSync(path, 0o700);
  await makeEmptyDirectory(path);
  assert.equal(modeOf(path), '700');
  assert.deepEqual(readdirSync(volumes), ['data']);
});

test('an emptyDir whose creation was interrupted is completed', async (t) => {
  const path = join(directory(t), 'data');
  mkdirSync(`${path}.new`, { mode: 0o755 });
  await makeEmptyDirectory(path);
  assert.equal(modeOf(path), '777');
});

test('files for containers of other users are readable with any umask of the node', async (t) => {
  const root = directory(t);
  const before = process.umask(0o077);
  t.after(() => process.umask(before));
  await writeVolume(join(root, 'files'), new Map([['deep/key', { bytes: Buffer.from('x'), mode: 0o644 }]]));
  await useHostPath(join(root, 'host/path'), 'DirectoryOrCreate');
  await useHostPath(join(root, 'host/file'), 'FileOrCreate');
  const modes = ['files', 'files/..data/deep', 'files/deep/key', 'host', 'host/path', 'host/file'].map((name) =>
    modeOf(join(root, name)),
  );
  assert.deepEqual(modes, ['755', '755', '644', '755', '755', '644']);
});

test('only the one user of its pod can read a token, other files keep their mode', async (t) => {
  const path = join(directory(t), 'v');
  const file = { bytes: Buffer.from('x'), mode: 0o644 };
  const files = new Map<string, VolumeFile>([
    ['token', { ...file, isToken: true }],
    ['ca.crt', file],
  ]);
  const isRoot = process.getuid?.() === 0;
  const tokenUser = isRoot ? 61_001 : (process.getuid?.() ?? 0);
  await writeVolume(path, files, { tokenUser });
  assert.deepEqual([modeOf(join(path, 'token')), statSync(join(path, 'token')).uid], ['600', tokenUser]);
  assert.deepEqual([modeOf(join(path, 'ca.crt')), statSync(join(path, 'ca.crt')).uid], ['644', process.getuid?.()]);
});

test('an absent hostPath without a type is created as a directory, an existing one is left unchanged', async (t) => {
  const root = directory(t);
  await useHostPath(join(root, 'new/deep'), '');
  assert.equal(modeOf(join(root, 'new/deep')), '755');
  writeFileSync(join(root, 'file'), 'kept');
  await useHostPath(join(root, 'file'), '');
  assert.equal(readFileSync(join(root, 'file'), 'utf8'), 'kept');
  await assert.rejects(useHostPath(join(root, 'none'), 'Directory'), /is not a directory/);
});
