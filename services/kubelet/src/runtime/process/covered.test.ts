import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Covered, coveredContainers } from './covered.ts';

interface Scene {
  readonly folder: string;
  readonly look: () => Covered;
}

/** A node with one pod of each class, each with a container that runs and one that has ended. */
function sceneOf(t: TestContext): Scene {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-covered-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const fencing of ['exclusive', 'other']) {
    const directory = join(folder, 'sandboxes', fencing);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'sandbox.json'), JSON.stringify({ id: fencing, config: { fencing } }));
    for (const state of ['running', 'exited'])
      writeFileSync(join(directory, `${fencing}-${state}.json`), JSON.stringify({ id: `${fencing}-${state}`, state }));
  }
  return { folder, look: () => coveredContainers(folder, 'exclusive') };
}

const idsOf = ({ containers }: Covered): readonly string[] => containers.map(({ id }) => id).toSorted();

/** A link to itself: it is there, and nobody can read it. */
function makeUnreadable(path: string): void {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(path, path);
}

test('[SAFE-32] covered are the living containers of the pods that the policy names', (t) => {
  const { look, folder } = sceneOf(t);
  assert.deepEqual([idsOf(look()), look().failures], [['exclusive-running'], []]);
  assert.deepEqual(idsOf(coveredContainers(folder, 'all')), ['exclusive-running', 'other-running']);
});

test('[SAFE-32] what was removed meanwhile is no failure', (t) => {
  const { look, folder } = sceneOf(t);
  rmSync(join(folder, 'sandboxes', 'exclusive'), { recursive: true });
  writeFileSync(join(folder, 'sandboxes', 'no-directory'), '');
  assert.deepEqual(look(), { containers: [], failures: [] });
  rmSync(join(folder, 'sandboxes'), { recursive: true });
  assert.deepEqual(look(), { containers: [], failures: [] });
});

test('[SAFE-32] a record that cannot be read counts as living, known by the name of its file', (t) => {
  const { look, folder } = sceneOf(t);
  makeUnreadable(join(folder, 'sandboxes', 'exclusive', 'exclusive-exited.json'));
  const { containers, failures } = look();
  assert.deepEqual(idsOf({ containers, failures }), ['exclusive-exited', 'exclusive-running']);
  assert.match(String(failures), /ELOOP/);
});

test('[SAFE-32] a pod whose class cannot be read counts as covered', (t) => {
  const { look, folder } = sceneOf(t);
  makeUnreadable(join(folder, 'sandboxes', 'other', 'sandbox.json'));
  assert.deepEqual([idsOf(look()), look().failures.length], [['exclusive-running', 'other-running'], 1]);
});

test('[SAFE-32] a pod whose directory cannot be read is reported, and the others are found', (t) => {
  const { look, folder } = sceneOf(t);
  makeUnreadable(join(folder, 'sandboxes', 'other'));
  const { containers, failures } = look();
  assert.deepEqual(idsOf({ containers, failures }), ['exclusive-running']);
  assert.ok(failures.length > 0);
});
