import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPodDirectories, runBriefly } from './pod-directories.ts';

test('[LIFE-13] the volumes of a pod are bound to its UID, and no other pod gets them', (t) => {
  const state = mkdtempSync(join(tmpdir(), 'pod-directories-'));
  t.after(() => rmSync(state, { recursive: true, force: true }));
  const directories = createPodDirectories(state);
  const fileOf = (uid: string): string => join(directories.volumesPath(uid), 'cache', 'file');
  for (const uid of ['u1', 'u2']) {
    mkdirSync(join(directories.volumesPath(uid), 'cache'), { recursive: true });
    writeFileSync(fileOf(uid), uid);
  }
  assert.equal(
    directories.volumesPath('u1'),
    createPodDirectories(state).volumesPath('u1'),
    'for the next kubelet too',
  );
  directories.sweep(new Set(['u1', 'u2']));
  assert.equal(readFileSync(fileOf('u1'), 'utf8'), 'u1');
  directories.remove('u1');
  assert.deepEqual([existsSync(fileOf('u1')), existsSync(fileOf('u2'))], [false, true]);
  directories.sweep(new Set());
  assert.equal(existsSync(fileOf('u2')), false, 'nobody is left to remove it');
});

test('an unmount that ignores signals is killed at its deadline: the kubelet stands still meanwhile', () => {
  assert.throws(() => runBriefly(['/bin/sh', '-c', 'trap "" TERM; exec sleep 600'], 50), /ETIMEDOUT/);
  assert.throws(() => runBriefly(['/bin/sh', '-c', 'exit 32'], 60_000), /Command failed/);
});
