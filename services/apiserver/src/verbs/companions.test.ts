import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { KubeObject } from '@holdfast/api';
import { InvariantViolation } from '@holdfast/platform';
import type { WriteOperation, WriteResult } from '@holdfast/store';
import type { WriteCompanion } from '../admission/port.ts';
import { rehearse, releaseAll, writeAccompanied } from './companions.ts';

const OBJECT: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
const COMMITTED: WriteResult = { outcome: 'committed', firstRevision: 1, lastRevision: 1 };

const creation = (key: string): WriteOperation => ({ kind: 'create', key, value: '{}' });
const lost = (index: number): WriteResult => ({ outcome: 'exists', index, currentRevision: 7 });

/** Adds its label, and writes its operations; the next ones while its own lose. */
const companion = (name: string, ...attempts: readonly (readonly string[])[]): WriteCompanion => ({
  write: async (object, commit) => {
    for (const keys of attempts) {
      const { result, lostOwn } = await commit(labelled(object, name), keys.map(creation));
      if (lostOwn === undefined) return result;
    }
    throw new Error(`${name} gives up`);
  },
  rehearse: async (object) => labelled(object, name),
  release: async () => [creation(`${name} is released`)],
});

const labelled = (object: KubeObject, name: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [name]: '' } },
});
const labelsOf = ({ metadata }: KubeObject): readonly string[] => Object.keys(metadata.labels ?? {});

/** A store that answers with `results` in turn, and what it was asked to write. */
function scripted(...results: readonly WriteResult[]) {
  const writes: { readonly labels: readonly string[]; readonly keys: readonly string[] }[] = [];
  const store = async (object: KubeObject, operations: readonly WriteOperation[]): Promise<WriteResult> => {
    writes.push({ labels: labelsOf(object), keys: operations.map(({ key }) => key) });
    return results[writes.length - 1] ?? COMMITTED;
  };
  return { store, writes };
}

test('without companions the object is written alone', async () => {
  const { store, writes } = scripted();
  assert.equal(await writeAccompanied([], OBJECT, store), COMMITTED);
  assert.deepEqual(writes, [{ labels: [], keys: [] }]);
});

test('all companions share one write, and each sees the object of the previous one', async () => {
  const { store, writes } = scripted();
  const companions = [companion('a', ['a1', 'a2']), companion('b', ['b1']), companion('c', [])];
  assert.equal(await writeAccompanied(companions, OBJECT, store), COMMITTED);
  assert.deepEqual(writes, [{ labels: ['a', 'b', 'c'], keys: ['a1', 'a2', 'b1'] }]);
});

test('only the companion whose operation lost the race retries', async () => {
  const { store, writes } = scripted(lost(3), lost(2));
  const companions = [companion('a', ['a1', 'a2'], ['a3']), companion('b', ['b1'], ['b2'])];
  assert.equal(await writeAccompanied(companions, OBJECT, store), COMMITTED);
  assert.deepEqual(
    writes.map(({ keys }) => keys),
    [
      ['a1', 'a2', 'b1'],
      ['a1', 'a2', 'b2'],
      ['a3', 'b1'],
    ],
  );
});

test('when the object itself lost the race no companion retries', async () => {
  const { store, writes } = scripted(lost(0));
  const companions = [companion('a', ['a1'], ['a2']), companion('b', ['b1'], ['b2'])];
  assert.deepEqual(await writeAccompanied(companions, OBJECT, store), lost(0));
  assert.equal(writes.length, 1);
});

test('a companion that fails ends the write', async () => {
  const { store } = scripted(lost(1));
  await assert.rejects(writeAccompanied([companion('a', ['a1'])], OBJECT, store), /a gives up/);
});

test('a dry run completes the object by every companion that supports it', async () => {
  const { write } = companion('b');
  const rehearsed = await rehearse([companion('a'), { write }, companion('c')], OBJECT);
  assert.deepEqual(labelsOf(rehearsed), ['a', 'c']);
});

test('a removal includes the releases of all companions', async () => {
  const { write } = companion('b');
  const operations = await releaseAll([companion('a'), { write }, companion('c')]);
  assert.deepEqual(
    operations.map(({ key }) => key),
    ['a is released', 'c is released'],
  );
});

test('a store that names an operation of another write is noticed', async () => {
  const { store } = scripted(lost(2));
  await assert.rejects(writeAccompanied([companion('a', ['a1'])], OBJECT, store), InvariantViolation);
});
