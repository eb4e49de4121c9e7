import { strict as assert } from 'node:assert';
import { readFile, stat, truncate } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import {
  type Clock,
  createIds,
  createSilentLog,
  createSystemClock,
  createSystemRandom,
  type Log,
  OperatorError,
} from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { type Change, type DurableStore, type Store, StoreHalted } from '@holdfast/store';
import { changesUpTo, checkChain, checkHistory } from '@holdfast/store/contract';
import { adoptRedisStore, createRedisStore, type RedisStoreOptions } from '@holdfast/store/redis';
import { Redis } from 'ioredis';
import { COMMIT } from '../../libs/store/src/redis/scripts.ts';
import { appendOnlyFile, type RedisServer, startRedis } from '../support/redis-server.ts';
import { startStoreLoad } from '../support/store-load.ts';

const KILLS = 6;
const PAUSES = 4;
const CLIENTS = 16;
const clock = createSystemClock();

/** A store that is closed when the test ends. */
async function open(t: TestContext, url: string, options: Partial<RedisStoreOptions> = {}): Promise<DurableStore> {
  const ids = createIds(createSystemRandom());
  const store = await createRedisStore({ url, clock, ids, log: createSilentLog(), ...options });
  t.after(() => store.close());
  return store;
}

/** A connection beside the store, to do to the server what the store would not. */
function intrude(t: TestContext, url: string): Redis {
  const redis = new Redis(url);
  redis.on('error', () => {});
  t.after(() => redis.disconnect());
  return redis;
}

/** Follows from the beginning in the background across interruptions, up to a given revision. */
function followAll(store: Store): { upTo(revision: number): Promise<Change[]>; readonly failed: Promise<never> } {
  const seen: Change[] = [];
  const stop = new AbortController();
  const following = (async () => {
    for await (const batch of store.changes({ after: 0, signal: stop.signal })) seen.push(...batch);
  })();
  // A store that was halted acknowledges nothing any more: a wait for it would not end.
  const failed = new Promise<never>((_, reject) => void following.catch(reject));
  failed.catch(() => {});
  return {
    failed,
    upTo: async (revision) => {
      await until(async () => seen.length >= revision, `the follower has seen ${revision} changes`);
      stop.abort();
      await following;
      return seen;
    },
  };
}

const until = async (condition: () => Promise<boolean>, what: string): Promise<void> => {
  await eventually(condition, what);
};

async function serves(store: Store): Promise<void> {
  await until(async () => (await store.health()).length === 0, 'the store serves again');
}

/** The objects and the server's data for another process must match the changes. */
async function assertWhole(store: Store, changes: readonly Change[]): Promise<void> {
  const current = new Map<string, [number, string]>();
  for (const { kind, key, revision, value } of changes) {
    if (kind === 'deleted') current.delete(key);
    else current.set(key, [revision, value]);
  }
  const page = await store.list('core/pods/');
  assert.deepEqual(new Map(page.objects.map(({ key, revision, value }) => [key, [revision, value]])), current);
}

async function loadUnderFaults(
  t: TestContext,
  server: RedisServer,
  options: Partial<RedisStoreOptions>,
  fault: () => Promise<void>,
): Promise<Map<string, number>> {
  const store = await open(t, server.url, options);
  const neighbour = await open(t, server.url, options);
  const follower = followAll(store);
  const load = startStoreLoad([store, neighbour], CLIENTS);
  // A failed test must not keep writing.
  t.after(() => load.stop());
  await Promise.race([load.acknowledged(100), follower.failed]);
  await fault();
  await Promise.race([load.acknowledged(100), follower.failed]);
  await load.stop();
  const revision = await store.currentRevision();
  const seen = await follower.upTo(revision);
  checkHistory(load.events, seen);
  await store.close();
  const other = await open(t, server.url);
  const kept = await changesUpTo(other, 0, revision);
  const essence = ({ revision: at, kind, key, value }: Change): unknown[] => [at, kind, key, value];
  assert.deepEqual(kept.map(essence), seen.map(essence), 'what was followed live is what is kept');
  await assertWhole(other, kept);
  return load.counts;
}

test(`redis: ${KILLS} x kill -9 under load: no acknowledged write is lost, no write is applied twice or partially`, async (t) => {
  await using server = await startRedis();
  const counts = await loadUnderFaults(t, server, {}, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await clock.sleep(20 + 37 * kill);
      await server.restart();
      await clock.sleep(100);
    }
  });
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
});

test(`redis: ${PAUSES} x SIGSTOP under load: writes that time out are resolved by their write id`, async (t) => {
  await using server = await startRedis();
  const warnings: string[] = [];
  const log: Log = { ...createSilentLog(), warn: (message) => void warnings.push(message) };
  const counts = await loadUnderFaults(t, server, { commandTimeoutMs: 200, log }, async () => {
    for (let pause = 0; pause < PAUSES; pause++) {
      server.pause();
      await clock.sleep(500);
      server.resume();
      await clock.sleep(200);
    }
  });
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  assert.ok(warnings.includes('lost the connection to the store'), 'commands have timed out');
  assert.equal(counts.get('unknown'), undefined, 'no write was left open');
});

test('redis: a write without an answer at its deadline is reported as unknown, and its id resolves it later', async (t) => {
  await using server = await startRedis();
  // Without a pause a slow machine with a slow disk must respond in time.
  const store = await open(t, server.url, { commandTimeoutMs: 1_000, writeDeadlineMs: 3_000 });
  const operations = [{ kind: 'create', key: 'core/pods/default/a', value: '{}' }] as const;
  server.pause();
  await assert.rejects(store.write(operations, { writeId: 'w-1' }), { name: 'OutcomeUnknown', writeId: 'w-1' });
  server.resume();
  await serves(store);
  const result = await store.write(operations, { writeId: 'w-1' });
  assert.deepEqual(result, { outcome: 'committed', firstRevision: 1, lastRevision: 1 });
  assert.equal(await store.currentRevision(), 1);
});

test('redis: a refused repeated write is not applied by a late packet of its first call', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url, { commandTimeoutMs: 1_000, writeDeadlineMs: 3_000 });
  const key = 'core/pods/default/a';
  const operations = [{ kind: 'create', key, value: '{}' }] as const;
  server.pause();
  await assert.rejects(store.write(operations, { writeId: 'w-1' }), { name: 'OutcomeUnknown' });
  // Packets in flight are late, not lost: they arrive at the end.
  await server.restart();
  await serves(store);
  const { revision } = await store.get(key);
  assert.equal((await store.write(operations)).outcome, 'committed');
  assert.equal((await store.write(operations, { writeId: 'w-1' })).outcome, 'exists');
  await store.write([{ kind: 'delete', key, value: '{}', expectedRevision: revision + 1 }]);
  // Another process sends a first attempt.
  const late = await open(t, server.url);
  assert.equal((await late.write(operations, { writeId: 'w-1' })).outcome, 'exists');
  assert.equal((await store.get(key)).object, undefined);
});

test('redis: a sent write is unknown, not refused, when the server comes back and must not be used', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url, { commandTimeoutMs: 1_000, writeDeadlineMs: 5_000 });
  server.pause();
  const write = store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }], { writeId: 'w-1' });
  const outcome = assert.rejects(write, { name: 'OutcomeUnknown', writeId: 'w-1' });
  await until(async () => (await store.health()).length > 0, 'the attempt is given up');
  await server.restart({ appendfsync: 'everysec' });
  await outcome;
});

test('redis: without a server writes and reads are refused at once as not applied, and resume when it is back', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  await server.kill();
  await until(async () => (await store.health()).length > 0, 'the loss is noticed');
  const operations = [{ kind: 'create', key: 'core/pods/default/a', value: '{}' }] as const;
  await assert.rejects(store.write(operations), { name: 'StoreUnavailable' });
  await assert.rejects(store.get('core/pods/default/a'), { name: 'StoreUnavailable' });
  await server.restart();
  await serves(store);
  assert.equal((await store.write(operations)).outcome, 'committed');
});

test('redis: a server that lost acknowledged writes is halted, for all processes', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  for (const name of ['a', 'b', 'c']) {
    await store.write([{ kind: 'create', key: `core/pods/default/${name}`, value: '{}' }]);
  }
  const redis = intrude(t, server.url);
  await redis.hset('{k8s}:m', 'rev', '2');
  await assert.rejects(store.currentRevision(), /halted/);
  await assert.rejects(store.write([{ kind: 'create', key: 'core/pods/default/d', value: '{}' }]), /halted/);
  await until(async () => (await redis.hget('{k8s}:m', 'state')) === 'halted', 'the halt is recorded');
  const other = await open(t, server.url);
  assert.match((await other.health()).join(), /halted/);
  await assert.rejects(other.get('core/pods/default/a'), { name: 'StoreUnavailable' });
});

test('redis: a server that comes back empty is halted', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  const redis = intrude(t, server.url);
  await redis.flushall();
  await server.restart();
  await until(async () => (await store.health()).some((complaint) => complaint.includes('halted')), 'the halt');
  await assert.rejects(store.write([{ kind: 'create', key: 'core/pods/default/b', value: '{}' }]), /halted/);
});

test('redis: a server that comes back with unsafe settings gets no writes', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  const redis = intrude(t, server.url);
  await redis.config('SET', 'appendfsync', 'everysec');
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until(async () => (await store.health()).some((complaint) => complaint.startsWith('appendfsync')), 'complaint');
  await assert.rejects(store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]), /appendfsync/);
  await redis.config('SET', 'appendfsync', 'always');
  await serves(store);
  assert.equal((await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }])).outcome, 'committed');
});

test('redis: states other than serving refuse, and a return to serving is detected', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  const redis = intrude(t, server.url);
  await redis.hset('{k8s}:m', 'state', 'loading');
  await assert.rejects(store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]), /state is loading/);
  await assert.rejects(store.get('core/pods/default/a'), /loading/);
  await redis.hset('{k8s}:m', 'state', 'serving');
  await serves(store);
  await store.get('core/pods/default/a');
  await redis.hset('{k8s}:m', 'epoch', '2');
  await assert.rejects(store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]), /epoch/);
  assert.match((await store.health()).join(), /restart it/);
});

test('redis: an attempt that arrives after its deadline is not executed', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  const redis = intrude(t, server.url);
  const key = 'core/pods/default/a';
  const keys = ['{k8s}:m', '{k8s}:h', '{k8s}:w:7', '{k8s}:w:6', `{k8s}:o:${key}`, '{k8s}:i:core/pods'];
  const parameters = ['1', clock.now() - 1, 1, 0, 'late', 'only', 1, 0, 'c', '', '{}', key, 'default/a', ''];
  const reply: unknown = await redis.eval(COMMIT.source, keys.length, ...keys, ...parameters);
  assert.ok(Array.isArray(reply) && reply[0] === 'EXPIRED', JSON.stringify(reply));
  assert.deepEqual(await store.get(key), { revision: 0, object: undefined });
});

test('redis: a late packet cannot execute a create that was meanwhile answered with "exists"', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  const key = 'core/pods/default/a';
  await store.write([{ kind: 'create', key, value: '"first"' }]);
  const redis = intrude(t, server.url);
  const attempt = async (which: 'only' | 'first' | 'again', id = 'late'): Promise<unknown> => {
    const keys = ['{k8s}:m', '{k8s}:h', '{k8s}:w:7', '{k8s}:w:6', `{k8s}:o:${key}`, '{k8s}:i:core/pods'];
    const parameters = ['1', clock.now() + 5_000, 1, 0, id, which, 1, 0, 'c', '', '"late"', key, 'default/a', ''];
    const answers: unknown = await redis.eval(COMMIT.source, keys.length, ...keys, ...parameters);
    // The last is the size of the store.
    return Array.isArray(answers) ? answers.slice(0, -1) : answers;
  };
  assert.deepEqual(await attempt('again'), [['DONE', 'EXISTS 0 1']]);
  assert.deepEqual(await attempt('again', 'later'), [['DONE', 'EXISTS 0 1']]);
  await store.write([{ kind: 'delete', key, value: '"last"', expectedRevision: 1 }]);
  assert.deepEqual(await attempt('first'), [['DONE', 'EXISTS 0 1', 'again']]);
  assert.deepEqual(await attempt('only', 'later'), [['DONE', 'EXISTS 0 1', 'again']]);
  assert.equal((await store.get(key)).object, undefined);
});

/** Appends to the server's history what no write script would. */
async function forge(redis: Redis, revision: number, writeId: string, compacted = 0): Promise<void> {
  const entry = ['o', 'c', 'k', `core/pods/default/forged-${revision}`, 'p', '0', 'v', '{}', 'w', writeId];
  await redis
    .multi()
    .hset('{k8s}:m', 'rev', String(revision), 'compact', String(compacted))
    .xadd('{k8s}:h', `${revision}-0`, ...entry)
    .exec();
}

for (const [what, revision, writeId, complaint] of [
  ['a gap in the history', 4, 'w-2', /gap between 1 and 4/],
  ['a write id that was applied twice', 3, 'w-1', /w-1 was applied at revisions 1 and 3/],
] as const) {
  test(`redis: ${what} halts the store`, async (t) => {
    await using server = await startRedis();
    const store = await open(t, server.url);
    const redis = intrude(t, server.url);
    await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }], { writeId: 'w-1' });
    if (revision === 3) await store.write([{ kind: 'create', key: 'core/pods/default/b', value: '{}' }]);
    const ended = assert.rejects(changesUpTo(store, revision - 1, revision), { message: complaint });
    await forge(redis, revision, writeId);
    await ended;
    await until(async () => complaint.test((await store.health()).join()), 'the store is halted');
  });
}

test('redis: I6: a history that ends elsewhere than at the revision of the store halts it', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  await intrude(t, server.url).hset('{k8s}:m', 'rev', '5');
  const other = await open(t, server.url);
  const complaint = /the history ends at 1, the store is at 5/;
  await until(async () => complaint.test((await other.health()).join()), 'the store is halted');
  await assert.rejects(other.write([{ kind: 'create', key: 'core/pods/default/b', value: '{}' }]), StoreHalted);
});

test('redis: a follower that lags behind the compaction of another process is notified', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  await changesUpTo(store, 0, 1);
  const left = assert.rejects(changesUpTo(store, 1, 20), { name: 'Compacted', compactedRevision: 10 });
  const fresh = changesUpTo(store, 10, 11);
  await forge(intrude(t, server.url), 11, 'w-11', 10);
  await left;
  assert.deepEqual(
    (await fresh).map((change) => change.revision),
    [11],
  );
});

test('redis: followers end when the server is unavailable for long, and are served again when it is back', async (t) => {
  await using server = await startRedis();
  const FASTER = 40;
  const fastClock: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() * FASTER,
    timer: (delayMs, fire) => clock.timer(delayMs / FASTER, fire),
    sleep: (delayMs, signal) => clock.sleep(delayMs / FASTER, signal),
  };
  // Only how long followers wait is to be short.
  const unhurried = { startTimeoutMs: 10_000 * FASTER, writeDeadlineMs: 10_000 * FASTER };
  const store = await open(t, server.url, { clock: fastClock, ...unhurried });
  const ended = assert.rejects(changesUpTo(store, 0, 1), { name: 'StoreUnavailable' });
  await server.kill();
  await until(async () => /changes cannot be read since/.test((await store.health()).join()), 'the complaint');
  await ended;
  await server.restart();
  await serves(store);
  await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  assert.equal((await changesUpTo(store, 0, 1)).length, 1);
});

test('redis: the documented access rules are sufficient, and a wrong password is reported', async (t) => {
  await using server = await startRedis();
  const page = await readFile(new URL('../../docs/internals/store.md', import.meta.url), 'utf8');
  const rules = /ACL SETUSER holdfast (.*)/.exec(page)?.[1]?.replace('<password>', 'secret');
  assert.ok(rules !== undefined, 'the page names the rules');
  await intrude(t, server.url).call('ACL', 'SETUSER', 'holdfast', ...rules.split(' '));
  const restricted = server.url.replace('//', '//holdfast:secret@');
  const first = await open(t, restricted);
  await first.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  await first.close();
  // The server has a history now, which the next one compares with its objects.
  await intrude(t, server.url).hdel('{k8s}:m', 'checked');
  const store = await open(t, restricted);
  assert.equal((await changesUpTo(store, 0, 1)).length, 1);
  assert.equal((await store.list('')).objects.length, 1);
  await store.write([{ kind: 'delete', key: 'core/pods/default/a', value: '{}', expectedRevision: 1 }]);
  await store.maintain();
  await store.compact(1);
  const wrong = open(t, server.url.replace('//', '//holdfast:wrong@'), { startTimeoutMs: 3_000 });
  await assert.rejects(
    wrong,
    (error) => error instanceof OperatorError && /user or password is wrong/.test(error.message),
  );
});

test('redis: a server that accepts connections and never answers is an operator error', async (t) => {
  await using server = await startRedis();
  server.pause();
  const opening = open(t, server.url, { startTimeoutMs: 300 });
  await assert.rejects(opening, (error) => {
    assert.ok(error instanceof OperatorError && error.code === 'STORE_UNREACHABLE', String(error));
    assert.match(error.message, /no answer within 300 ms/);
    return true;
  });
  server.resume();
});

const RENEWAL_US_PER_KEY = '200000';

test('redis: any torn end of the append-only file leaves whole batches, and what is written behind it survives the next kill', async (t) => {
  await using server = await startRedis();
  const batch = (name: string) =>
    ['x', 'y', 'z'].map(
      (key) =>
        ({ kind: 'create', key: `core/pods/default/${key}${name}`, value: '{"padding":"................"}' }) as const,
    );
  for (const torn of [1, 40, 300, 900, 1_700]) {
    const store = await open(t, server.url);
    for (const n of [0, 1, 2, 3]) await store.write(batch(`${torn}-${n}`));
    await store.close();
    await server.kill();
    const path = await appendOnlyFile(server);
    await truncate(path, (await stat(path)).size - torn);
    // Slow enough that the next kill finds it under way.
    await server.restart({ 'rdb-key-save-delay': RENEWAL_US_PER_KEY });
    const other = await open(t, server.url);
    const revision = await other.currentRevision();
    assert.equal(revision % 3, 0, `whole batches only: revision ${revision}`);
    checkChain(await changesUpTo(other, 0, revision));
    assert.deepEqual(await other.write(batch(`${torn}-behind`)), {
      outcome: 'committed',
      firstRevision: revision + 1,
      lastRevision: revision + 3,
    });
    await other.close();
    await server.restart();
    const last = await open(t, server.url);
    const changes = await changesUpTo(last, 0, revision + 3);
    checkChain(changes);
    assert.equal(changes.at(-1)?.key, `core/pods/default/z${torn}-behind`);
    await assertWhole(last, changes);
    await last.close();
  }
});

test('redis: a user who may not renew the append-only file is refused, and taken when the right is given', async (t) => {
  await using server = await startRedis();
  const redis = intrude(t, server.url);
  await redis.acl('SETUSER', 'limited', 'on', '>password', '~*', '&*', '+@all', '-bgrewriteaof');
  const url = server.url.replace('//', '//limited:password@');
  const isRefused = (error: unknown): boolean => {
    assert.ok(error instanceof OperatorError && error.code === 'STORE_UNSAFE', String(error));
    assert.match(error.message, /BGREWRITEAOF: .*NOPERM/);
    assert.match(error.nextStep, /ACL SETUSER, without a restart/);
    return true;
  };
  await assert.rejects(open(t, url), isRefused);
  await assert.rejects(adoptRedisStore({ url, clock, log: createSilentLog() }), isRefused);
  await (await open(t, url, { allowUnsafe: true })).close();
  await redis.acl('SETUSER', 'limited', '+bgrewriteaof');
  await (await open(t, url)).close();
  await redis.acl('SETUSER', 'limited', '-bgrewriteaof');
  await (await open(t, url)).close();
});

test('redis: a server out of memory refuses writes as not applied and still answers reads', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  const redis = intrude(t, server.url);
  await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  await redis.config('SET', 'maxmemory', '1');
  const batch = ['b', 'c'].map((name) => ({ kind: 'create', key: `core/pods/default/${name}`, value: '{}' }) as const);
  await assert.rejects(store.write(batch, { writeId: 'w-1' }), { name: 'StoreUnavailable', message: /^OOM/ });
  assert.equal((await store.list('core/pods/')).objects.length, 1);
  await redis.config('SET', 'maxmemory', '0');
  const result = await store.write(batch, { writeId: 'w-1' });
  assert.deepEqual(result, { outcome: 'committed', firstRevision: 2, lastRevision: 3 });
  assert.deepEqual(await store.health(), []);
});

test('redis: data of a newer format is refused', async (t) => {
  await using server = await startRedis();
  await (await open(t, server.url)).close();
  const redis = intrude(t, server.url);
  await redis.hset('{k8s}:m', 'fmt', '2');
  await assert.rejects(open(t, server.url), (error) => error instanceof OperatorError && error.code === 'STORE_FORMAT');
});

test('redis: maintenance keeps the history within its limits', async (t) => {
  await using server = await startRedis();
  const retention = { minAgeMs: 0, minRevisions: 300, maxBytes: 256 * 1024 * 1024 };
  const store = await open(t, server.url, { retention });
  for (let at = 0; at < 900; at += 100) {
    const names = Array.from({ length: 100 }, (_, index) => `core/pods/default/p-${at + index}`);
    await store.write(names.map((key) => ({ kind: 'create', key, value: '{}' })));
  }
  await store.maintain();
  assert.equal(await store.compactedRevision(), 600);
  assert.equal((await changesUpTo(store, 600, 900)).length, 300);
  const redis = intrude(t, server.url);
  const kept = await redis.xlen('{k8s}:h');
  assert.ok(kept >= 300 && kept < 900, `${kept} entries are kept`);
});
