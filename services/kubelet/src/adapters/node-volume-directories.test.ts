import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
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
import { test } from 'node:test';
import { unlessRoot } from '@holdfast/testing';
import { VolumeError } from '../domain/volume-files.ts';
import { createNodeVolumeDirectories, type NodeVolumeDirectories } from './node-volume-directories.ts';

const ONE = '00000000-0000-4000-8000-000000000001';
const TWO = '00000000-0000-4000-8000-000000000002';

async function inFolder(
  run: (directories: NodeVolumeDirectories, root: string, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-node-volumes-'));
  try {
    const root = join(folder, 'volumes');
    await run(createNodeVolumeDirectories(root), root, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a volume has its own directory that every user of the pod can write, and keeps its files', () =>
  inFolder(async (directories, root) => {
    const path = await directories.make(ONE, undefined);
    assert.equal(path, join(root, ONE));
    assert.equal(statSync(path).mode & 0o777, 0o777);
    assert.equal(statSync(root).mode & 0o777, 0o700, 'nobody else of the machine gets there');
    writeFileSync(join(path, 'data'), 'kept');
    assert.equal(await directories.make(ONE, undefined), path);
    assert.equal(readFileSync(join(path, 'data'), 'utf8'), 'kept');
  }));

test('a removal deletes the files of this volume and no target of its links', () =>
  inFolder(async (directories, root, folder) => {
    const [one, two] = [await directories.make(ONE, undefined), await directories.make(TWO, undefined)];
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    for (const place of [one, two, outside]) writeFileSync(join(place, 'data'), 'x');
    symlinkSync(outside, join(one, 'link'));
    mkdirSync(join(one, 'deep'));
    symlinkSync(two, join(one, 'deep', 'link'));
    await directories.remove(ONE);
    assert.deepEqual(readdirSync(root), [TWO]);
    assert.ok(existsSync(join(two, 'data')) && existsSync(join(outside, 'data')));
    await directories.remove(ONE);
  }));

test('the leftovers of an interrupted removal are deleted with the next one, and a volume that was never created is ignored', () =>
  inFolder(async (directories, root) => {
    await directories.remove(ONE);
    assert.equal(existsSync(root), false);
    await directories.make(ONE, undefined);
    mkdirSync(join(root, `removed-${ONE}`));
    writeFileSync(join(root, `removed-${ONE}`, 'rest'), 'x');
    await directories.remove(ONE);
    assert.deepEqual(readdirSync(root), []);
  }));

test(
  'what is mounted is kept, also in what an interrupted removal left, and holds up no other volume',
  {
    skip: unlessRoot(),
  },
  () =>
    inFolder(async (directories, root) => {
      const left = join(root, `removed-${TWO}`);
      const places = [join(await directories.make(ONE, undefined), 'disk'), join(left, 'disk')];
      for (const place of places) {
        mkdirSync(place, { recursive: true });
        execFileSync('mount', ['-t', 'tmpfs', 'holdfast-test', place], { timeout: 10_000 });
        writeFileSync(join(place, 'data'), 'x');
      }
      try {
        await assert.rejects(directories.remove(ONE), /is still mounted/);
        await assert.rejects(directories.remove(TWO), /is still mounted/);
        assert.ok(places.every((place) => existsSync(join(place, 'data'))));
        execFileSync('umount', [places[0] ?? ''], { timeout: 10_000 });
        await directories.remove(ONE);
        assert.deepEqual(readdirSync(root), [`removed-${TWO}`]);
        assert.ok(existsSync(join(left, 'disk', 'data')));
      } finally {
        for (const place of places.filter(existsSync))
          execFileSync('umount', ['--lazy', '--quiet', place], { timeout: 10_000 });
      }
    }),
);

test('only a uid of the server names a directory', () =>
  inFolder(async (directories, _root, folder) => {
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    for (const uid of [
      '',
      '.',
      '..',
      '../outside',
      outside,
      `${ONE}/..`,
      `${ONE}\n`,
      ONE.replace('4', 'G'),
      'x'.repeat(36),
    ]) {
      await assert.rejects(directories.make(uid, undefined), VolumeError, JSON.stringify(uid));
      await assert.rejects(directories.remove(uid), VolumeError, JSON.stringify(uid));
    }
    assert.deepEqual(readdirSync(folder), ['outside']);
  }));

test('removing all volumes deletes their root directory', () =>
  inFolder(async (directories, root) => {
    await directories.removeAll();
    writeFileSync(join(await directories.make(ONE, undefined), 'data'), 'x');
    await directories.removeAll();
    assert.equal(existsSync(root), false);
  }));
