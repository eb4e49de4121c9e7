import { strict as assert } from 'node:assert';
import { copyFile, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createIds, createSeededRandom, createSilentLog, createSystemClock, OperatorError } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import {
  type CreateStore,
  changesUpTo,
  checkChain,
  recount,
  storeContract,
  storeHistoryProperty,
} from '../contract/index.ts';
import { create, pod, put, remove, revisions, update } from '../contract/support.ts';
import { Compacted, type DurableStore } from '../port.ts';
import { DATABASE_FILE } from './database.ts';
import { createSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';

function openStore(directory: string, options: Partial<SqliteStoreOptions> = {}): Promise<DurableStore> {
  const ids = createIds(createSeededRandom(1, 'ids'));
  return createSqliteStore({ directory, clock: createSystemClock(), ids, log: createSilentLog(), ...options });
}

const openEmptyStore: CreateStore = async (options = {}) => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  const store = await openStore(directory, options);
  const close = async (): Promise<void> => {
    await store.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { store, close };
};

storeContract('sqlite', openEmptyStore);
storeHistoryProperty('sqlite', openEmptyStore, { runs: 25, stepsPerClient: 20 });

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const isOperatorError = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OperatorError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  assert.ok(error.nextStep.length > 0);
  return true;
};

test('sqlite: the log is checkpointed into the database once writes stop', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  t.after(() => store.close());
  const file = join(directory, DATABASE_FILE);
  const before = (await stat(file)).size;
  for (let i = 0; i < 20; i++) await put(store, create(pod(`large-${i}`), JSON.stringify('x'.repeat(20_000))));
  await eventually(async () => (await stat(file)).size >= before + 400_000, 'the log is copied');
});

test('sqlite: objects, history, compaction and write ids survive a reopen', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  await put(store, create(pod('a'), '"one"'));
  await put(store, update(pod('a'), 1, '"two"'));
  await put(store, create(pod('b')));
  await put(store, remove(pod('b'), 3, '"last"'));
  const batch = [create(pod('c')), create(pod('d'))];
  const result = await store.write(batch, { writeId: 'w-1' });
  await store.compact(2);
  const page = await store.list('core/pods/');
  const changes = await changesUpTo(store, 2, 6);
  const usage = store.usage();
  await store.close();

  const again = await openStore(directory);
  assert.deepEqual(again.usage(), usage);
  assert.deepEqual({ ...(await recount(again)), limits: undefined }, usage);
  assert.deepEqual(await again.list('core/pods/'), page);
  assert.deepEqual(await changesUpTo(again, 2, 6), changes);
  assert.equal(await again.compactedRevision(), 2);
  await assert.rejects(changesUpTo(again, 1, 6), Compacted);
  assert.deepEqual(await again.write(batch, { writeId: 'w-1' }), result);
  assert.equal(await put(again, update(pod('a'), 2)), 7);
  await again.close();
});

test('sqlite: the revision continues after everything was deleted and compacted', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  await put(store, create(pod('a')));
  await put(store, remove(pod('a'), 1));
  await store.compact(2);
  await store.close();
  const again = await openStore(directory);
  assert.equal(await again.currentRevision(), 2);
  assert.equal(await put(again, create(pod('a'))), 3);
  await again.close();
});

test('sqlite: any torn end of the log leaves whole batches in one unbroken history', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  for (const n of revisions(1, 10)) {
    await store.write([create(pod(`x${n}`)), create(pod(`y${n}`)), create(pod(`z${n}`))]);
  }
  const log = `${DATABASE_FILE}-wal`;
  const { size } = await stat(join(directory, log));
  const seen = new Set<number>();
  for (const part of revisions(0, 12)) {
    const copy = await temporaryDirectory(t);
    for (const file of [DATABASE_FILE, log]) await copyFile(join(directory, file), join(copy, file));
    await truncate(join(copy, log), Math.floor((size * part) / 12));
    const torn = await openStore(copy);
    const revision = await torn.currentRevision();
    assert.equal(revision % 3, 0, `whole batches only: revision ${revision}`);
    const changes = await changesUpTo(torn, 0, revision);
    checkChain(changes);
    assert.equal((await torn.list('core/pods/')).objects.length, revision);
    seen.add(revision);
    await torn.close();
  }
  assert.ok(seen.has(30) && seen.size > 3, `cuts at several places: ${[...seen].join()}`);
  await store.close();
});

test('sqlite: compaction removes only replaced and deleted versions', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  await put(store, create(pod('kept')));
  await put(store, create(pod('changed'), '0'));
  for (const n of revisions(2, 4_999)) await put(store, update(pod('changed'), n, String(n)));
  await put(store, create(pod('gone')));
  await put(store, remove(pod('gone'), 5_001));
  await store.compact(5_000);
  await store.close();
  const database = new DatabaseSync(join(directory, DATABASE_FILE));
  const kept = database.prepare('SELECT revision FROM changes ORDER BY revision').all();
  database.close();
  assert.deepEqual(
    kept.map((row) => row['revision']),
    [1, 5_000, 5_001, 5_002],
  );
  const again = await openStore(directory);
  const page = await again.list('core/pods/');
  assert.deepEqual(
    page.objects.map((object) => [object.key, object.value, object.revision]),
    [
      [pod('changed'), '4999', 5_000],
      [pod('kept'), '{}', 1],
    ],
  );
  await again.close();
});

test('sqlite: history that this process no longer holds is read from the file', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  const large = JSON.stringify('x'.repeat(1024 * 1024));
  await put(store, create(pod('a'), large));
  for (const n of revisions(1, 59)) await put(store, update(pod('a'), n, large));
  const changes = await changesUpTo(store, 0, 60);
  assert.deepEqual(
    changes.map((change) => change.revision),
    revisions(1, 60),
  );
  await store.close();
});

test('sqlite: maintenance keeps the history within its limits', async (t) => {
  const directory = await temporaryDirectory(t);
  const retention = { minAgeMs: 0, minRevisions: 30, maxBytes: 256 * 1024 * 1024 };
  const store = await openStore(directory, { retention });
  for (const n of revisions(1, 100)) await put(store, create(pod(`p-${n}`)));
  await store.maintain();
  assert.equal(await store.compactedRevision(), 70);
  await store.close();
});

test('sqlite: a directory in use is refused, and is free after it is closed', async (t) => {
  const directory = await temporaryDirectory(t);
  const store = await openStore(directory);
  await assert.rejects(openStore(directory), isOperatorError('STORE_IN_USE', /another instance/));
  await store.close();
  await (await openStore(directory)).close();
});

test('sqlite: a newer format is refused', async (t) => {
  const directory = await temporaryDirectory(t);
  await (await openStore(directory)).close();
  const database = new DatabaseSync(join(directory, DATABASE_FILE));
  database.exec('PRAGMA user_version = 2');
  database.close();
  await assert.rejects(openStore(directory), isOperatorError('STORE_FORMAT', /format 2; this version reads format 1/));
});

test('sqlite: a database of another application is refused and left unchanged', async (t) => {
  const directory = await temporaryDirectory(t);
  const database = new DatabaseSync(join(directory, DATABASE_FILE));
  database.exec('CREATE TABLE theirs (x)');
  database.close();
  await assert.rejects(openStore(directory), isOperatorError('STORE_FOREIGN', /another application/));
});

test('sqlite: a file that is not a database, and one with a gap in its history, are refused as damaged', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, DATABASE_FILE), 'this is not a database, and it is long enough to tell '.repeat(100));
  await assert.rejects(openStore(directory), isOperatorError('STORE_DAMAGED', /not a database/));

  const holed = await temporaryDirectory(t);
  const store = await openStore(holed);
  for (const n of revisions(1, 5)) await put(store, create(pod(`p-${n}`)));
  await store.close();
  const database = new DatabaseSync(join(holed, DATABASE_FILE));
  database.exec('DELETE FROM changes WHERE revision = 3');
  database.close();
  await assert.rejects(
    openStore(holed),
    isOperatorError('STORE_DAMAGED', /cannot be used: its history has a gap near revision \d$/),
  );
});

test('sqlite: a directory that cannot be created is an operator error', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'file'), '');
  await assert.rejects(openStore(join(directory, 'file', 'below')), isOperatorError('STORE_UNUSABLE', /below/));
});
