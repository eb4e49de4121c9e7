import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createSeededRandom } from '@holdfast/platform';
import { flipBit, tearEnd } from './damage.ts';

const WHOLE = Buffer.from('0123456789'.repeat(20));

async function withBlock(damage: (folder: string) => Promise<void>): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-damage-'));
  const file = path.join(folder, 'streams', 'S', '1.blk');
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, WHOLE);
    await writeFile(path.join(folder, 'meta.inf'), WHOLE);
    await damage(folder);
    assert.deepEqual(await readFile(path.join(folder, 'meta.inf')), WHOLE);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('a torn end leaves everything before it, and is shorter than an entry', async () => {
  const torn = await withBlock((folder) => tearEnd(folder, createSeededRandom(1, 'torn')));
  assert.deepEqual(torn.subarray(0, WHOLE.length), WHOLE);
  assert.ok(torn.length > WHOLE.length && torn.length <= WHOLE.length + 60);
});

test('a flipped bit is one bit of one file', async () => {
  const flipped = await withBlock((folder) => flipBit(folder, createSeededRandom(1, 'flipped')));
  const bits = [...flipped].map((byte, i) => (byte ^ (WHOLE[i] ?? 0)).toString(2).replaceAll('0', '').length);
  assert.equal(
    bits.reduce((sum, each) => sum + each, 0),
    1,
  );
});
