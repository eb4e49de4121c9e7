import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { unlessRoot } from '@holdfast/testing';
import { giveGroup } from './volume-group.ts';

const GID = 2_000;

test('all files of a volume get the group and its rights; links are not followed, and a matching top is left alone', {
  skip: unlessRoot(),
}, async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-group-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const volume = join(root, 'volume');
  const outside = join(root, 'outside');
  writeFileSync(outside, '', { mode: 0o600 });
  mkdirSync(join(volume, 'deep'), { recursive: true, mode: 0o700 });
  writeFileSync(join(volume, 'deep', 'file'), '', { mode: 0o400 });
  symlinkSync(outside, join(volume, 'link'));
  execFileSync('mkfifo', [join(volume, 'pipe')]);
  await giveGroup(volume, { gid: GID, policy: undefined });
  const seen = (path: string): readonly unknown[] => {
    const { gid, mode } = statSync(path);
    return [gid, (mode & 0o7777).toString(8)];
  };
  assert.deepEqual(seen(join(volume, 'deep', 'file')), [GID, '660']);
  for (const directory of [volume, join(volume, 'deep')]) {
    const { gid, mode } = statSync(directory);
    assert.deepEqual([gid, (mode & 0o2770).toString(8)], [GID, '2770']);
  }
  assert.equal(lstatSync(join(volume, 'link')).gid, GID);
  assert.equal(statSync(join(volume, 'pipe')).gid, GID);
  assert.deepEqual(seen(outside), [process.getgid?.(), '600']);
  chmodSync(join(volume, 'deep', 'file'), 0o400);
  await giveGroup(volume, { gid: GID, policy: 'OnRootMismatch' });
  assert.equal(seen(join(volume, 'deep', 'file'))[1], '400');
  await giveGroup(volume, { gid: GID, policy: 'Always' });
  assert.equal(seen(join(volume, 'deep', 'file'))[1], '660');
});
