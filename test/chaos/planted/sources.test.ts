import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { editsNamed, writePlantedBugs } from './sources.ts';

test('a planted bug is laid over the sources of the containers that run them, and of no others', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-planted-'));
  try {
    const file = writePlantedBugs(['promise-waited-short', 'watch-repeats-last'], folder);
    const { services } = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(Object.keys(services).toSorted(), ['apiserver-1', 'apiserver-2', 'controller-manager']);
    assert.equal(services['apiserver-1'].volumes.length, 2);
    const [mount = ''] = services['controller-manager'].volumes;
    const [changed = '', over, mode] = mount.split(':');
    assert.equal(over, '/opt/holdfast/services/controller-manager/src/controllers/self-fencing/decide.ts');
    assert.equal(mode, 'ro');
    assert.match(readFileSync(changed, 'utf8'), /waitMs\(promise\.durationMs, limits\) \/ 3/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a bug that is unknown, or of a process that the compose form does not have, is refused', () => {
  assert.throws(() => editsNamed('no-such-bug'), /there is no planted bug "no-such-bug"/);
  assert.throws(() => editsNamed('fence-taken-for-done'), /no container of the compose form runs/);
});
