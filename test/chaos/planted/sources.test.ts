import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { editsNamed, PlantedSources } from './sources.ts';

test('a planted bug is laid over the sources of the containers that run them, and of no others', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-planted-'));
  try {
    const sources = new PlantedSources(['promise-waited-short', 'watch-repeats-last'], folder);
    const { services } = JSON.parse(readFileSync(sources.composeFile, 'utf8'));
    assert.deepEqual(Object.keys(services).toSorted(), ['apiserver-1', 'apiserver-2', 'controller-manager']);
    assert.equal(services['apiserver-1'].volumes.length, 2);
    const [mount = ''] = services['controller-manager'].volumes;
    const [copy = '', over, mode] = mount.split(':');
    assert.equal(over, '/opt/holdfast/services/controller-manager/src/controllers/self-fencing/decide.ts');
    assert.equal(mode, 'ro');
    const isPlanted = (): boolean => readFileSync(copy, 'utf8').includes('waitMs(promise.durationMs, limits) / 3');
    assert.equal(isPlanted(), false, 'nothing is planted at first');
    assert.deepEqual(sources.plant(['promise-waited-short']), ['controller-manager']);
    assert.equal(isPlanted(), true);
    assert.deepEqual(sources.plant(['promise-waited-short']), [], 'it is planted already');
    assert.deepEqual(sources.plant(['watch-repeats-last']), ['apiserver-1', 'apiserver-2', 'controller-manager']);
    assert.equal(isPlanted(), false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('bugs of the store are planted into the store that the compose form has', () => {
  for (const name of [
    'create-overwrites',
    'update-without-compare',
    'delete-without-compare',
    'store-without-write-ids',
  ]) {
    const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-planted-'));
    try {
      assert.deepEqual(
        editsNamed(name).map(({ file }) => file),
        ['libs/store/src/redis/scripts.ts'],
      );
      assert.deepEqual(new PlantedSources([name], folder).plant([name]), ['apiserver-1', 'apiserver-2'], name);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});

test('bugs of the log are planted into every API server of three zones', () => {
  for (const [name, file] of [
    ['update-without-compare', 'libs/store/src/internal/operations.ts'],
    ['log-reads-own-copy', 'libs/store/src/log/log-store.ts'],
  ] as const) {
    const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-planted-'));
    try {
      assert.deepEqual(
        editsNamed(name, 'H').map((edit) => edit.file),
        [file],
      );
      const all = ['apiserver-1', 'apiserver-2', 'apiserver-3'];
      assert.deepEqual(new PlantedSources([name], folder, 'H').plant([name]), all, name);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});

test('a bug that is unknown, or of a process that the compose form does not have, is refused', () => {
  assert.throws(() => editsNamed('no-such-bug'), /there is no planted bug "no-such-bug"/);
  assert.throws(() => editsNamed('fence-taken-for-done'), /no container of the compose form runs/);
});
