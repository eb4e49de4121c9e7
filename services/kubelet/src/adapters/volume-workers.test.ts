import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { unlessRoot } from '@holdfast/testing';
import { VolumeError } from '../domain/volume-files.ts';
import { VOLUME_WORK_MS } from '../limits.ts';
import { hasForeignMounts } from '../runtime/pod-directories.ts';
import { mountSilent, unlessFuse } from '../testing/silent-mount.ts';
import { VolumeWorkers } from './volume-workers.ts';

function folderOf(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-volume-work-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('work is done by a process of its own, with the words of a refusal', async (t) => {
  const folder = folderOf(t);
  const work = new VolumeWorkers({ clock: createSystemClock(), mayHang: () => true });
  t.after(() => work.close());
  const found = await work.findSubPath({ volume: folder, subPath: 'a/b', make: true });
  assert.deepEqual(found, { path: join(folder, 'a/b'), volume: folder, isDirectory: true, isBound: false });
  await work.useHostPath(join(folder, 'made'), 'DirectoryOrCreate');
  await assert.rejects(work.useHostPath(join(folder, 'made'), 'File'), (error: unknown) => {
    assert.ok(error instanceof VolumeError);
    assert.match(error.message, /is not a file/);
    return true;
  });
  writeFileSync(join(folder, 'made', 'file'), '');
  assert.equal(await work.adoptDirectory(folder, { uid: 0, gid: 0, group: false, isShifted: false }), true);
});

test('a server that falls silent inside an opening holds one process, and neither the kubelet nor other volumes', {
  skip: unlessRoot() || unlessFuse(),
}, async (t) => {
  const folder = folderOf(t);
  const silent = await mountSilent(t);
  mkdirSync(join(folder, 'other'));
  const clock = createVirtualClock();
  const work = new VolumeWorkers({ clock, workersMax: 2 });
  t.after(() => work.close());
  const refused = assert.rejects(
    work.findSubPath({ volume: silent, subPath: 'logs', make: true }),
    /the server of the volume did not answer within 10 s/,
  );
  const { path } = await work.findSubPath({ volume: join(folder, 'other'), subPath: 'logs', make: true });
  assert.equal(path, join(folder, 'other/logs'));
  await clock.advance(VOLUME_WORK_MS);
  await refused;
});

test('processes that wait are bounded', { skip: unlessRoot() || unlessFuse() }, async (t) => {
  const folder = folderOf(t);
  const silent = await mountSilent(t);
  const clock = createVirtualClock();
  const work = new VolumeWorkers({ clock, workersMax: 1 });
  t.after(() => work.close());
  const refused = assert.rejects(work.useHostPath(silent, 'Directory'), /did not answer/);
  await assert.rejects(work.useHostPath(folder, 'Directory'), /1 volumes of the node do not answer/);
  await clock.advance(VOLUME_WORK_MS);
  await refused;
});

test('file systems of the machine itself need no process', () => {
  const list = (type: string, target = '/data') => [
    { source: 'x', target: '/', type: 'ext4' },
    { source: 'y', target, type },
  ];
  for (const type of ['xfs', 'overlay', 'tmpfs'])
    assert.equal(
      hasForeignMounts(() => list(type)),
      false,
      type,
    );
  for (const type of ['nfs4', 'fuse.sshfs', 'cifs', '9p', 'autofs'])
    assert.ok(
      hasForeignMounts(() => list(type)),
      type,
    );
  assert.equal(
    hasForeignMounts(() => list('autofs', '/proc/sys/fs/binfmt_misc')),
    false,
  );
  assert.ok(
    hasForeignMounts(() => []),
    'a machine that does not list them',
  );
});
