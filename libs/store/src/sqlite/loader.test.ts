import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { sizeOfState } from '../internal/change-size.ts';
import { RECENT_CHANGES } from '../limits.ts';
import type { ChangeKind } from '../port.ts';
import { Loader } from './loader.ts';
import type { RowColumns } from './protocol.ts';

const VALUE = '"grün"';
const keyOf = (revision: number): string => `core/pods/-/${revision}`;

function columns(from: number, to: number, kind: ChangeKind = 'created'): RowColumns {
  const revisions = Array.from({ length: to - from }, (_, i) => from + i);
  return {
    revisions,
    kinds: revisions.map(() => kind),
    keys: revisions.map(keyOf),
    values: revisions.map(() => VALUE),
    textBytes: revisions.map((revision) => Buffer.byteLength(keyOf(revision)) + Buffer.byteLength(VALUE)),
    previousRevisions: revisions.map(() => 0),
    createRevisions: revisions,
    writeIds: revisions.map(() => null),
  };
}

test('a load keeps all objects, and of the changes only those that the process serves from memory', () => {
  const loader = new Loader();
  const newest = RECENT_CHANGES * 2;
  loader.take(columns(1, RECENT_CHANGES), { newest, compacted: 0 });
  loader.take(columns(RECENT_CHANGES, newest + 1), { newest, compacted: 0 });
  const { table, changes, bytes } = loader.finish(0);
  assert.equal(table.list('').objects.length, newest);
  assert.equal(changes.length, RECENT_CHANGES);
  assert.equal(changes[0]?.revision, newest - RECENT_CHANGES + 1);
  const expected = table.list('').objects.reduce((sum, { key, value }) => sum + sizeOfState(key, value), 0);
  assert.equal(table.bytes, expected);
  assert.equal(bytes.total, expected);
});

test('a load counts a replaced object once, and its change knows the state before', () => {
  const loader = new Loader();
  const rows = columns(1, 3);
  loader.take(
    {
      ...rows,
      kinds: ['created', 'updated'],
      keys: [keyOf(1), keyOf(1)],
      previousRevisions: [0, 1],
      createRevisions: [1, 1],
    },
    { newest: 2, compacted: 0 },
  );
  const { table, changes, bytes } = loader.finish(0);
  assert.equal(table.bytes, sizeOfState(keyOf(1), VALUE));
  assert.equal(bytes.total, 2 * sizeOfState(keyOf(1), VALUE));
  assert.deepEqual(
    changes.map(({ previousValue }) => previousValue),
    [undefined, VALUE],
  );
});

test('objects whose history is compacted cost no room in the sizes of the history, however far apart they are', () => {
  const [objects, apart] = [5_000, 1_000];
  const loader = new Loader();
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 1; n <= objects; n++)
    loader.take(columns(n * apart, n * apart + 1), { newest: objects * apart, compacted: objects * apart - 1 });
  assert.ok(process.memoryUsage().arrayBuffers - before < 1024 * objects, 'less than 1 KiB an object');
  const { table, bytes } = loader.finish(objects * apart - 1);
  assert.equal(table.list('').objects.length, objects);
  assert.equal(bytes.total, sizeOfState(keyOf(objects * apart), VALUE));
});
