import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { VolumeError } from '../domain/volume-files.ts';
import { makeEmptyDirectory, resolveSubPath, useHostPath } from './volume-directory.ts';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-volume-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

test('an emptyDir is made once: the mode that its pod gave it stays when volumes are looked at again', async (t) => {
  const volumes = join(directory(t), 'volumes');
  const path = join(volumes, 'data');
  await makeEmptyDirectory(path);
  assert.equal(modeOf(path), '777');
  chmodSync(path, 0o700);
  await makeEmptyDirectory(path);
  assert.equal(modeOf(path), '700');
  assert.deepEqual(readdirSync(volumes), ['data']);
});

test('an emptyDir whose making was cut off is made whole', async (t) => {
  const path = join(directory(t), 'data');
  mkdirSync(`${path}.new`, { mode: 0o755 });
  await makeEmptyDirectory(path);
  assert.equal(modeOf(path), '777');
});

test('a subPath is made within its volume, and nothing is made where a link leads out of it', async (t) => {
  const root = directory(t);
  const [volume, outside] = [join(root, 'volume'), join(root, 'outside')];
  for (const path of [volume, outside]) mkdirSync(path);
  assert.equal(await resolveSubPath(volume, 'own/deep', true), join(volume, 'own/deep'));
  assert.equal(await resolveSubPath(volume, 'own/deep', false), join(volume, 'own/deep'));
  symlinkSync(outside, join(volume, 'out'));
  await assert.rejects(resolveSubPath(volume, 'out/made', true), VolumeError);
  assert.equal(existsSync(join(outside, 'made')), false);
  await assert.rejects(resolveSubPath(volume, 'out', true), /leads out of the volume/);
  await assert.rejects(resolveSubPath(volume, 'none', false), /does not exist/);
});

test('a subPath is as open as its volume, and keeps the group that new files take', async (t) => {
  const volume = directory(t);
  chmodSync(volume, 0o2775);
  await resolveSubPath(volume, 'own', true);
  assert.equal(modeOf(join(volume, 'own')), '2775');
});

test('a hostPath without a type is made as a directory where nothing is, and left alone where something is', async (t) => {
  const root = directory(t);
  await useHostPath(join(root, 'new/deep'), '');
  assert.equal(modeOf(join(root, 'new/deep')), '755');
  writeFileSync(join(root, 'file'), 'kept');
  await useHostPath(join(root, 'file'), '');
  assert.equal(readFileSync(join(root, 'file'), 'utf8'), 'kept');
  await assert.rejects(useHostPath(join(root, 'none'), 'Directory'), /is not a directory/);
});
