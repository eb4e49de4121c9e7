import { strict as assert } from 'node:assert';
import { copyFileSync, renameSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { ChangeDatabase, CommitError, DATABASE_FILE, FilesReplaced, isInDoubt } from './database.ts';
import type { ChangeRow } from './protocol.ts';

async function openDatabase(t: TestContext): Promise<ChangeDatabase> {
  return (await openFile(t)).database;
}

async function openFile(t: TestContext): Promise<{ readonly database: ChangeDatabase; readonly file: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  const database = ChangeDatabase.open({ directory, incarnation: 'test' });
  t.after(async () => {
    database.close();
    await rm(directory, { recursive: true, force: true });
  });
  return { database, file: join(directory, DATABASE_FILE) };
}

function row(revision: number, change: Partial<ChangeRow> = {}): ChangeRow {
  const key = `core/pods/default/p-${revision}`;
  return {
    revision,
    kind: 'created',
    key,
    value: '{}',
    previousRevision: 0,
    createRevision: revision,
    writeId: null,
    ...change,
  };
}

test('a group that fails in the middle is rolled back, and the outcome is certain', async (t) => {
  const database = await openDatabase(t);
  database.commit([row(1), row(2)]);
  let failure: unknown;
  try {
    database.commit([row(3), row(4), row(2)]);
  } catch (error) {
    failure = error;
  }
  assert.ok(failure instanceof Error);
  assert.equal(isInDoubt(failure), false);
  assert.deepEqual(database.rowsAfter(0, 10), [row(1), row(2)]);
  database.commit([row(3)]);
  assert.equal(database.rowsAfter(2, 10).length, 1);
});

test('an older copy that is moved over the file while a checkpoint is synced is found by the next write', async (t) => {
  const { database, file } = await openFile(t);
  database.commit([row(1)]);
  database.checkpoint();
  copyFileSync(file, `${file}-older`);
  database.commit([row(2)]);
  const exec = t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, sql: string) {
    exec.mock.restore();
    this.exec(sql);
    renameSync(`${file}-older`, file);
  });
  database.checkpoint();
  assert.throws(() => database.assertOwnFiles(), FilesReplaced);
});

test('a start reads all rows once, a few at a time, with the bytes of their texts', async (t) => {
  const database = await openDatabase(t);
  const value = '"grün"';
  const rows = Array.from({ length: 7 }, (_, i) => ({ ...row(i + 1), value }));
  database.commit(rows);
  const read = [...database.columns(3)];
  assert.deepEqual(
    read.map(({ revisions }) => revisions),
    [[1, 2, 3], [4, 5, 6], [7]],
  );
  assert.equal(database.newest(), 7);
  const [first] = read;
  assert.deepEqual(first?.values, [value, value, value]);
  assert.equal(first?.textBytes[0], Buffer.byteLength(value) + Buffer.byteLength(row(1).key));
  assert.deepEqual([first?.kinds[0], first?.writeIds[0]], [row(1).kind, row(1).writeId]);
});

test('only the owner can access the files of the store, also files that others could read before', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const before = process.umask(0o022);
  t.after(() => process.umask(before));
  const modes = async (): Promise<readonly (readonly [string, string])[]> => {
    const names = (await readdir(directory)).toSorted();
    const stats = await Promise.all(names.map((name) => stat(join(directory, name))));
    return names.map((name, index) => [name, ((stats[index]?.mode ?? 0) & 0o777).toString(8)]);
  };
  const files = [
    ['store.sqlite', '600'],
    ['store.sqlite-wal', '600'],
  ];
  for (const first of [true, false]) {
    const database = ChangeDatabase.open({ directory, incarnation: 'test' });
    database.commit([row(first ? 1 : 2)]);
    assert.deepEqual(await modes(), files);
    database.close();
    await chmod(join(directory, 'store.sqlite'), 0o644);
  }
});

test('a failed commit, an I/O error and corruption leave the outcome unknown', () => {
  const sqliteError = (errcode: number): Error => Object.assign(new Error('failed'), { errcode });
  const IOERR_FSYNC = 1034;
  const CORRUPT = 11;
  const FULL = 13;
  const failedEnd = new CommitError(sqliteError(FULL));
  assert.equal(isInDoubt(failedEnd), true);
  // The store reports this message when it halts.
  assert.equal(failedEnd.message, 'the end of a transaction failed: failed');
  assert.equal(isInDoubt(sqliteError(IOERR_FSYNC)), true);
  assert.equal(isInDoubt(sqliteError(CORRUPT)), true);
  assert.equal(isInDoubt(sqliteError(FULL)), false);
});

test('trimming resumes where it stopped, and the mark is written first', async (t) => {
  const database = await openDatabase(t);
  const key = 'core/pods/default/a';
  const rows = Array.from({ length: 5_000 }, (_, index) =>
    row(index + 1, { key, kind: index === 0 ? 'created' : 'updated', previousRevision: index }),
  );
  database.commit(rows);
  database.markCompacted(4_900);
  assert.equal(database.compacted(), 4_900);
  assert.equal(database.rowsAfter(0, 10_000).length, 5_000, 'nothing is gone yet');
  const calls = [database.trim(), database.trim(), database.trim(), database.trim()];
  assert.deepEqual(calls, [true, true, false, false]);
  assert.equal(database.rowsAfter(0, 10_000)[0]?.revision, 4_900);
  database.markCompacted(10);
  assert.equal(database.compacted(), 4_900, 'the mark only grows');
});
