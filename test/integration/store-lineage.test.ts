import { strict as assert } from 'node:assert';
import { cp, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { Compacted, type DurableStore, type Store, StoreHalted } from '@holdfast/store';
import { changesUpTo } from '@holdfast/store/contract';
import { adoptRedisStore, createRedisStore } from '@holdfast/store/redis';
import { adoptSqliteStore, createSqliteStore } from '@holdfast/store/sqlite';
import { freePort } from '../support/free-port.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { SeverableProxy } from '../support/severable-proxy.ts';

const clock = createSystemClock();
const machine = { clock, ids: createIds(createSystemRandom()), log: createSilentLog() };

async function openRedis(t: TestContext, url: string): Promise<DurableStore> {
  const store = await createRedisStore({ url, ...machine });
  t.after(() => store.close());
  return store;
}

async function openSqlite(t: TestContext, directory: string): Promise<DurableStore> {
  const store = await createSqliteStore({ directory, ...machine });
  t.after(() => store.close());
  return store;
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-lineage-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const keyOf = (name: string): string => `core/pods/default/${name}`;

async function createPods(store: Store, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const result = await store.write([{ kind: 'create', key: keyOf(name), value: '{}' }]);
    assert.equal(result.outcome, 'committed');
  }
}

const isHalted = (error: unknown): boolean =>
  error instanceof StoreHalted && /holdfast store adopt/.test(error.message);

async function assertHalted(store: Store, why: RegExp): Promise<void> {
  await eventually(async () => store.haltedBy() !== undefined, 'the store is halted');
  assert.match(store.haltedBy() ?? '', why);
  assert.match((await store.health()).join(), why);
  await assert.rejects(store.get(keyOf('a')), isHalted);
  await assert.rejects(store.list('core/pods/'), isHalted);
  await assert.rejects(store.currentRevision(), isHalted);
  await assert.rejects(store.write([{ kind: 'create', key: keyOf('late'), value: '{}' }]), isHalted);
}

/** Puts the data of an earlier moment under the server, as a restored backup or a promoted lagging replica does. */
async function putBack(server: RedisServer, copy: string): Promise<void> {
  await server.kill();
  await rm(join(server.directory, 'appendonlydir'), { recursive: true });
  await cp(copy, join(server.directory, 'appendonlydir'), { recursive: true });
  await server.restart();
}

async function copyData(t: TestContext, server: RedisServer): Promise<string> {
  const copy = join(await temporaryFolder(t), 'copy');
  await cp(join(server.directory, 'appendonlydir'), copy, { recursive: true });
  return copy;
}

/** One API server is disconnected; meanwhile an older copy is put in place and another server writes `past` onto it. */
async function forkBehind(t: TestContext, past: readonly string[]) {
  const server = await startRedis();
  t.after(() => server.stop());
  const proxy = await SeverableProxy.start(server.port);
  t.after(() => proxy[Symbol.asyncDispose]());
  const cutOff = await openRedis(t, `redis://127.0.0.1:${proxy.port}`);
  await createPods(cutOff, 'a', 'b');
  const copy = await copyData(t, server);
  await createPods(cutOff, 'lost-1', 'lost-2');
  const follower = assert.rejects(changesUpTo(cutOff, 0, 100), isHalted);
  proxy.lead(await freePort());
  proxy.cut();
  await putBack(server, copy);
  const other = await openRedis(t, server.url);
  await createPods(other, ...past);
  proxy.lead(server.port);
  return { server, cutOff, other, follower };
}

/** Most of their time they wait for deadlines of servers of their own. */
describe('data that went back', { concurrency: true }, () => {
  for (const [what, past] of [
    ['to the same revision', ['x', 'y']],
    ['past what the first has seen', ['x', 'y', 'z', 'more']],
    ['not as far', ['x']],
  ] as const) {
    test(`redis: an older copy was restored and another server has written ${what}: the disconnected server halts, and all others`, async (t) => {
      const { cutOff, other, follower, server } = await forkBehind(t, past);
      await assertHalted(cutOff, /data were replaced|revision|history/);
      await follower;
      await assertHalted(other, /data were replaced|revision|history/);
      const late = await openRedis(t, server.url);
      await assertHalted(late, /data were replaced|revision|history/);
    });
  }

  test('redis: a server that only lost its connection continues', async (t) => {
    await using server = await startRedis();
    const proxy = await SeverableProxy.start(server.port);
    t.after(() => proxy[Symbol.asyncDispose]());
    const cutOff = await openRedis(t, `redis://127.0.0.1:${proxy.port}`);
    const other = await openRedis(t, server.url);
    await createPods(cutOff, 'a', 'b');
    proxy.lead(await freePort());
    proxy.cut();
    await createPods(other, ...Array.from({ length: 40 }, (_, i) => `other-${i}`));
    await server.restart();
    proxy.lead(server.port);
    await eventually(async () => (await cutOff.health()).length === 0, 'it serves again');
    assert.equal((await changesUpTo(cutOff, 0, 42)).length, 42);
  });

  test('redis: an adoption ends the halt: the next epoch starts above every known revision, and no client resumes from before', async (t) => {
    const { server, cutOff } = await forkBehind(t, ['x', 'y', 'z']);
    await assertHalted(cutOff, /data were replaced/);
    const revision = await adoptRedisStore({ url: server.url, ...machine });
    assert.ok(revision > 1_000_000_000_000);
    const adopted = await openRedis(t, server.url);
    assert.equal(adopted.lineage().epoch, cutOff.lineage().epoch + 1);
    assert.equal(await adopted.currentRevision(), revision);
    assert.equal((await adopted.get(keyOf('x'))).object?.revision, 3, 'the data are as they were');
    await assert.rejects(changesUpTo(adopted, 4, 5), Compacted);
    await createPods(adopted, 'after');
    assert.equal((await changesUpTo(adopted, revision, revision + 1))[0]?.key, keyOf('after'));
    await assert.rejects(createPods(cutOff, 'late'), isHalted);
    assert.deepEqual(await adopted.health(), [], 'a process of the epoch before halts itself only');
  });

  for (const [what, replace] of [
    ['moved', (from: string, to: string) => rename(from, to)],
    ['copied', (from: string, to: string) => cp(from, to)],
  ] as const) {
    test(`sqlite: an older copy that is ${what} over the file of a running process halts it before it writes`, async (t) => {
      const directory = await temporaryFolder(t);
      const copy = join(await temporaryFolder(t), 'copy.sqlite');
      const store = await openSqlite(t, directory);
      await createPods(store, 'a');
      await cp(join(directory, 'store.sqlite'), copy);
      await createPods(store, 'b');
      // A copy during its own write would look like that write.
      const modified = async (file: string): Promise<number> => (await stat(join(directory, file))).mtimeMs;
      const isIdle = async () => (await modified('store.sqlite')) >= (await modified('store.sqlite-wal'));
      await eventually(isIdle, 'an idle store copies its log into the file');
      // Its thread does one thing after the other.
      await store.compact(1);
      await replace(copy, join(directory, 'store.sqlite'));
      await assert.rejects(createPods(store, 'c'), /replaced or written by another program/);
      await assertHalted(store, /replaced or written by another program/);
    });
  }

  test('sqlite: a halt outlives the process; an adoption ends it with a new epoch', async (t) => {
    const directory = await temporaryFolder(t);
    const store = await openSqlite(t, directory);
    await createPods(store, 'a', 'b');
    store.halt('a client has seen more');
    await assertHalted(store, /a client has seen more/);
    await store.close();
    const isHaltedError = (error: unknown): boolean => error instanceof OperatorError && error.code === 'STORE_HALTED';
    await assert.rejects(openSqlite(t, directory), isHaltedError);
    const revision = adoptSqliteStore(directory, 'unused');
    const adopted = await openSqlite(t, directory);
    assert.deepEqual(adopted.lineage(), { ...store.lineage(), epoch: 2 });
    assert.equal(await adopted.currentRevision(), revision);
    assert.equal((await adopted.list('core/pods/')).objects.length, 2);
    await assert.rejects(changesUpTo(adopted, 2, 3), Compacted);
    await createPods(adopted, 'c');
    await adopted.compact(revision + 1);
    await adopted.close();
    assert.equal((await (await openSqlite(t, directory)).list('core/pods/')).objects.length, 3);
  });
});
