import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageOf, overlapsOf, surprisesOf } from './judge.ts';
import { LOSS_KINDS, type LossKind, LossPlan } from './plan.ts';
import { PLANTED, plantedSource } from './planted.ts';
import { parseRecords, parseSigns, RECORD_BYTES } from './signs.ts';

const signs = (...lines: readonly string[]) =>
  parseSigns(
    lines
      .map((line, index) => {
        const [uid, what = 'beat', record = '-'] = line.split(' ');
        return `${index * 100} db-0 ${uid} node-of-${uid} 7 ${what} ${record}\n`;
      })
      .join(''),
  );

test('[TEST-07] the judge of identities detects a life that goes on after its successor has begun', () => {
  assert.deepEqual(overlapsOf(signs('a', 'a', 'b', 'b', 'c')), []);
  assert.deepEqual(overlapsOf(signs('a', 'a refused 3', 'b', 'a refused 4', 'b')), [], 'only beats are lives');
  assert.deepEqual(overlapsOf(signs('a', 'b', 'b', 'a', 'a', 'b')), [
    'db-0 lived as a on node-of-a (process 7) until 300 ms after b on node-of-b (process 7) began',
  ]);
  assert.equal(overlapsOf(signs('a', 'b', 'c', 'a', 'b')).length, 3);
});

test('a line in progress is not a sign', () => {
  assert.equal(parseSigns('5 db-0 a node-1 7 beat -\n9 db-0 a no').length, 1);
});

test('[TEST-07] the judge of volumes detects lost and mixed records', () => {
  const wrote = signs('a wrote 0', 'a wrote 1', 'b wrote 2');
  assert.deepEqual(damageOf(wrote, ['a', 'a', 'b']), []);
  assert.deepEqual(damageOf(wrote, ['a', 'a', 'a', 'b']), ['record 2 of db-0 is of a, not of b']);
  assert.deepEqual(damageOf(wrote, ['a', 'a']), ['record 2 of db-0 is of nobody, not of b']);
  assert.deepEqual(damageOf([], ['a', 'b', 'a']), ['the records of a are mixed with those of its successor']);
});

test('[TEST-07] pods that live at the same time on one node may share a volume, and no others', () => {
  const wrote = (node: string, atMs: number): ReturnType<typeof signs> =>
    parseSigns(`1 disk-1 a node-1 7 wrote 0\n${atMs} disk-2 b ${node} 7 wrote 0\n3 disk-1 a node-1 7 wrote 1\n`);
  const shared = { isShared: true };
  for (const records of [
    ['b', 'a'],
    ['a', 'b', 'a'],
    ['a', 'a'],
  ]) {
    assert.deepEqual(damageOf(wrote('node-1', 2), records, shared), []);
    assert.notDeepEqual(damageOf(wrote('node-1', 2), records), [], 'an identity shares with nobody');
    assert.notDeepEqual(damageOf(wrote('node-2', 2), records, shared), [], 'of another node');
  }
  assert.equal(damageOf(wrote('node-1', 2), ['b'], shared).length, 1, 'record 1 is of nobody');
  assert.equal(damageOf(wrote('node-1', 9), ['b', 'a'], shared).length, 1, 'b began when a had ended');
});

test('a refused writer is a surprise when nobody has replaced it', () => {
  assert.deepEqual(surprisesOf(signs('a', 'b', 'a refused 1', 'b')), []);
  assert.equal(surprisesOf(signs('a', 'b', 'b refused 1')).length, 1);
});

test('records are read up to the first that was never written', () => {
  const record = (uid: string) => `${uid} 1`.padEnd(RECORD_BYTES - 1).concat('\n');
  const volume = Buffer.concat([Buffer.from(record('a') + record('b')), Buffer.alloc(3 * RECORD_BYTES)]);
  assert.deepEqual(parseRecords(volume), ['a', 'b']);
});

test('a seed always draws the same losses, every kind before any comes again, and as many at once as are possible', () => {
  const kinds = Object.keys(LOSS_KINDS) as LossKind[];
  const drawn = (seed: number, possible: number) => {
    const plan = new LossPlan(seed, kinds);
    return Array.from({ length: 30 }, () => plan.next(possible));
  };
  assert.deepEqual(drawn(7, 2), drawn(7, 2));
  assert.notDeepEqual(drawn(8, 2), drawn(7, 2));
  assert.deepEqual(new Set(drawn(7, 2).flat().slice(0, kinds.length)), new Set(kinds));
  assert.deepEqual(new Set(drawn(7, 2).map(({ length }) => length)), new Set([1, 2]));
  assert.equal(drawn(7, 1).flat().length, 30);
});

test('each planted bug fits its source', () => {
  for (const { edits } of Object.values(PLANTED)) for (const edit of edits) plantedSource(edit);
});
