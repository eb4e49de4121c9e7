import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { create, pod, update } from '../contract/support.ts';
import { type CommitLog, type DoneResponse, ThreadBroken, ThreadRefused } from './commit-thread.ts';
import { Loader } from './loader.ts';
import type { Request } from './protocol.ts';
import { SqliteStore } from './sqlite-store.ts';

/** A commit log that follows the test's script and records its requests. */
function scriptedLog() {
  const commits: Request[] = [];
  const log: CommitLog & { answer: () => Promise<DoneResponse> } = {
    answer: async () => ({ kind: 'done' }),
    ask: async (request) => {
      if (request.kind === 'commit') commits.push(request);
      return log.answer();
    },
    close: async () => {},
  };
  return { log, commits };
}

function openStore(log: CommitLog): SqliteStore {
  const ids = createIds(createSeededRandom(1, 'ids'));
  const options = { directory: '', clock: createSystemClock(), ids, log: createSilentLog() };
  return new SqliteStore(options, log, {
    ...new Loader().finish(0),
    compacted: 0,
    lineage: { incarnation: 'test', epoch: 1 },
  });
}

test('sqlite: a refused group is not applied, its writers get the error, and later writes succeed', async () => {
  const { log } = scriptedLog();
  const store = openStore(log);
  log.answer = () => Promise.reject(new ThreadRefused('database or disk is full'));
  const refused = { name: 'StoreUnavailable', message: /disk is full/ };
  await Promise.all(['a', 'b'].map((name) => assert.rejects(store.write([create(pod(name))]), refused)));
  assert.match((await store.health()).join(), /disk is full/);
  assert.equal(await store.currentRevision(), 0);
  log.answer = async () => ({ kind: 'done' });
  const result = await store.write([create(pod('a'))]);
  assert.deepEqual(result, { outcome: 'committed', firstRevision: 1, lastRevision: 1 });
  assert.deepEqual(await store.health(), []);
  await store.close();
});

test('sqlite: a commit in doubt is reported as unknown and halts the store', async () => {
  const { log } = scriptedLog();
  const store = openStore(log);
  log.answer = () => Promise.reject(new ThreadBroken('disk I/O error'));
  await assert.rejects(store.write([create(pod('a'))], { writeId: 'w-1' }), { name: 'OutcomeUnknown', writeId: 'w-1' });
  await assert.rejects(store.get(pod('a')), { name: 'StoreUnavailable', message: /halted: disk I\/O error/ });
  assert.match((await store.health()).join(), /halted: disk I\/O error; it serves again after a restart/);
  await store.close();
});

test('sqlite: nothing is visible or answered before the commit is durable, refusals included', async () => {
  const { log, commits } = scriptedLog();
  const store = openStore(log);
  const gate = Promise.withResolvers<DoneResponse>();
  log.answer = () => gate.promise;
  const answered: string[] = [];
  const abort = new AbortController();
  const changes = store.changes({ after: 0, signal: abort.signal })[Symbol.asyncIterator]();
  const change = changes.next().then(() => answered.push('change'));
  const writes = [create(pod('a')), create(pod('a')), update(pod('b'), 1)].map(async (operation) => {
    answered.push((await store.write([operation])).outcome);
  });
  while (commits.length === 0) await Promise.resolve();
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  assert.deepEqual(answered, []);
  assert.equal((await store.get(pod('a'))).object, undefined);
  assert.equal(await store.currentRevision(), 0);
  gate.resolve({ kind: 'done' });
  await Promise.all([...writes, change]);
  assert.deepEqual(new Set(answered), new Set(['change', 'committed', 'exists', 'notFound']));
  assert.equal(commits.length, 1, 'writes of one turn share a commit');
  await store.close();
});

test('sqlite: close answers writes in progress and refuses queued ones', async () => {
  const { log, commits } = scriptedLog();
  const store = openStore(log);
  const gate = Promise.withResolvers<DoneResponse>();
  log.answer = () => gate.promise;
  const first = store.write([create(pod('a'))]);
  while (commits.length === 0) await Promise.resolve();
  const second = assert.rejects(store.write([create(pod('b'))]), { name: 'StoreUnavailable' });
  const closing = store.close();
  await second;
  gate.resolve({ kind: 'done' });
  assert.equal((await first).outcome, 'committed');
  await closing;
});
