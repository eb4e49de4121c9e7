import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { doubleLives, type Life, readLives } from './support/heartbeats.ts';

const life = (pod: string, uid: string, firstMs: number, lastMs: number): Life => ({
  pod,
  uid,
  node: `node-of-${uid}`,
  pid: '7',
  firstMs,
  lastMs,
});

test('[TEST-07] the checker of heartbeat files detects an identity that lived twice', () => {
  assert.deepEqual(doubleLives([life('db-0', 'a', 0, 10), life('db-0', 'b', 11, 20), life('db-1', 'c', 0, 20)]), []);
  assert.equal(doubleLives([life('db-0', 'a', 0, 10), life('db-0', 'b', 10, 20)]).length, 1);
  assert.equal(doubleLives([life('db-0', 'a', 0, 30), life('db-0', 'b', 10, 20)]).length, 1);
});

test('heartbeat files are read per process, without the line in progress', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-heartbeats-'));
  try {
    await writeFile(path.join(folder, 'a.log'), '5 db-0 a node-1 7\n9 db-0 a node-1 7\n12 db-0 a node-1 8\n99 db-');
    assert.deepEqual(await readLives(folder), [
      { pod: 'db-0', uid: 'a', node: 'node-1', pid: '7', firstMs: 5, lastMs: 9 },
      { pod: 'db-0', uid: 'a', node: 'node-1', pid: '8', firstMs: 12, lastMs: 12 },
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
