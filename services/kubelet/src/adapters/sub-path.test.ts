import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { unlessRoot } from '@holdfast/testing';
import { VolumeError } from '../domain/volume-files.ts';
import { createPodDirectories, mountsAt, subPathTarget } from '../runtime/pod-directories.ts';
import { raceSubPath } from '../testing/race-sub-path.ts';
import { findByName, openSubPath } from './sub-path.ts';

interface Place {
  readonly root: string;
  readonly volume: string;
  /** A directory of the machine that nothing may reach. */
  readonly outside: string;
}

function place(t: TestContext): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-sub-path-')));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const [volume, outside] = [join(root, 'volume'), join(root, 'outside')];
  for (const path of [volume, outside]) mkdirSync(path);
  return { root, volume, outside };
}

async function pathOf(volume: string, subPath: string, make: boolean): Promise<string> {
  const opened = await openSubPath(volume, subPath, { make });
  opened.close();
  return opened.path;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

test('a subPath is created inside its volume, and nothing is created where a link leads outside', async (t) => {
  const { volume, outside } = place(t);
  assert.equal(await pathOf(volume, 'own/deep', true), join(volume, 'own/deep'));
  assert.equal(await pathOf(volume, 'own/deep', false), join(volume, 'own/deep'));
  assert.equal(await pathOf(volume, '', true), volume);
  symlinkSync(outside, join(volume, 'out'));
  await assert.rejects(pathOf(volume, 'out/made', true), VolumeError);
  assert.equal(existsSync(join(outside, 'made')), false);
  await assert.rejects(pathOf(volume, 'out', true), /leads out of the volume/);
  await assert.rejects(pathOf(volume, 'none', false), /does not exist/);
});

test('on systems whose descriptors have no paths a subPath is found by its name, and does not lead out either', async (t) => {
  const { volume, outside } = place(t);
  chmodSync(volume, 0o775);
  const found = await findByName(volume, 'own/deep', { make: true });
  assert.deepEqual(found, { path: join(volume, 'own/deep'), volume, isDirectory: true });
  assert.deepEqual([modeOf(join(volume, 'own')), modeOf(join(volume, 'own/deep'))], ['775', '775']);
  writeFileSync(join(volume, 'file'), '');
  assert.equal((await findByName(volume, 'file', { make: false })).isDirectory, false);
  symlinkSync(outside, join(volume, 'out'));
  await assert.rejects(findByName(volume, 'out/made', { make: true }), /leads out of the volume/);
  await assert.rejects(findByName(volume, 'none', { make: false }), /does not exist/);
  assert.deepEqual(readdirSync(outside), []);
});

test('links inside the volume are followed, as those of ConfigMaps', async (t) => {
  const { volume } = place(t);
  mkdirSync(join(volume, '..1'));
  writeFileSync(join(volume, '..1/key'), 'x');
  symlinkSync('..1', join(volume, '..data'));
  symlinkSync('..data/key', join(volume, 'key'));
  assert.equal(await pathOf(volume, 'key', false), join(volume, '..1/key'));
});

test('a subPath has the mode of its volume, and keeps the setgid group', async (t) => {
  const { volume } = place(t);
  chmodSync(volume, 0o2775);
  await pathOf(volume, 'a/b', true);
  assert.deepEqual([modeOf(join(volume, 'a')), modeOf(join(volume, 'a/b'))], ['2775', '2775']);
});

for (const made of ['file', 'directory', 'missing'])
  for (const swapped of ['a', 'b', 'c'])
    test(`a name swapped for a link just before its look-up leads nowhere: ${swapped}, ${made}`, async (t) => {
      const { root, volume, outside } = place(t);
      mkdirSync(join(volume, 'a/b'), { recursive: true });
      if (made === 'directory') mkdirSync(join(volume, 'a/b/c'));
      if (made === 'file') writeFileSync(join(volume, 'a/b/c'), 'own');
      mkdirSync(join(outside, 'b/c'), { recursive: true });
      chmodSync(outside, 0o700);
      const way = ['a', 'b', 'c'];
      const name = join(volume, ...way.slice(0, way.indexOf(swapped) + 1));
      const beforeStep = (step: string): void => {
        if (step !== swapped) return;
        if (existsSync(name)) renameSync(name, join(root, 'away'));
        symlinkSync(outside, name);
      };
      await assert.rejects(
        openSubPath(volume, 'a/b/c', { make: made === 'missing', beforeStep }),
        /leads out of the volume/,
      );
      assert.deepEqual([modeOf(outside), readdirSync(outside), readdirSync(join(outside, 'b'))], ['700', ['b'], ['c']]);
    });

test('a directory swapped after its look-up is still the one of the volume', async (t) => {
  const { root, volume, outside } = place(t);
  mkdirSync(join(volume, 'a'));
  const beforeStep = (step: string): void => {
    if (step !== 'made') return;
    renameSync(join(volume, 'a'), join(root, 'away'));
    symlinkSync(outside, join(volume, 'a'));
  };
  const opened = await openSubPath(volume, 'a/made', { make: true, beforeStep });
  opened.close();
  assert.deepEqual([readdirSync(outside), opened.path], [[], join(root, 'away/made')]);
});

test('a pod that constantly swaps a directory for a link gets nothing created or opened outside', async () => {
  const { rounds, escapes } = await raceSubPath((round) => round < 1_000);
  assert.deepEqual([rounds, escapes], [1_000, []]);
});

test('for other runtimes an open directory is mounted where only the node writes, and is removed with the pod', {
  skip: unlessRoot(),
}, async (t) => {
  const { root, volume, outside } = place(t);
  writeFileSync(join(volume, 'file'), 'own');
  writeFileSync(join(outside, 'file'), 'foreign');
  const pods = createPodDirectories(join(root, 'state'));
  const volumes = pods.volumesPath('u1');
  const target = subPathTarget(volumes, 'main', 0);
  t.after(() => pods.remove('u1'));
  for (const subPath of ['file', 'dir', 'file']) {
    const opened = await openSubPath(volume, subPath, { make: subPath === 'dir' });
    renameSync(join(volume, subPath), join(volume, 'moved'));
    symlinkSync(join(outside, 'file'), join(volume, subPath));
    await opened.bindTo(target);
    opened.close();
    rmSync(join(volume, subPath));
    renameSync(join(volume, 'moved'), join(volume, subPath));
    assert.equal(mountsAt(target).length, 1);
    if (subPath === 'file') assert.equal(readFileSync(target, 'utf8'), 'own');
    else assert.deepEqual(readdirSync(target), []);
  }
  pods.remove('u1');
  assert.deepEqual(
    [mountsAt(target), existsSync(volumes), readFileSync(join(volume, 'file'), 'utf8')],
    [[], false, 'own'],
  );
});
