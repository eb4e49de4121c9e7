import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import type { DurableStore } from '@holdfast/store';
import { createLogStore, type LogStoreOptions } from '@holdfast/store/log';
import { createRedisStore } from '@holdfast/store/redis';
import { startForgetfulDisk, whyNoForgetfulDisk } from '../support/forgetful-disk.ts';
import { LOG_PATIENCE_MS, type LogServers, startLogServers } from '../support/log-servers.ts';
import { startRedis } from '../support/redis-server.ts';

const WRITES = 150;
/** More than a server keeps before it has to write. */
const WRITES_WHEN_FULL = 40;
const VALUE_CHARACTERS = 20_000;
/** Servers that have lost their log may never answer again. */
const LOST_AFTER_MS = 30_000;
const SLOW_MS = 300;
const clock = createSystemClock();
const ids = createIds(createSystemRandom());
const log = createSilentLog();
const skip = whyNoForgetfulDisk() ?? false;

type Disk = Awaited<ReturnType<typeof startForgetfulDisk>>;
type DiskFault = readonly [what: string, spoil: (disk: Disk) => Promise<void>, mend: (disk: Disk) => Promise<void>];

/** Writes objects, and returns the keys of those that were acknowledged. */
async function writeSome(store: DurableStore, round: number): Promise<readonly string[]> {
  const keys = Array.from({ length: WRITES }, (_, n) => `core/pods/default/r${round}-${n}`);
  await Promise.all(keys.map((key) => store.write([{ kind: 'create', key, value: '{}' }])));
  return keys;
}

async function missing(store: DurableStore, acknowledged: readonly string[]): Promise<readonly string[]> {
  const { objects } = await store.list('');
  const present = new Set(objects.map(({ key }) => key));
  return acknowledged.filter((key) => !present.has(key));
}

const openLog = (
  { urls, monitors, acceptOldServers }: LogServers,
  options: Partial<LogStoreOptions> = {},
): Promise<DurableStore> =>
  createLogStore({
    servers: urls,
    monitors,
    acceptOldServers,
    startTimeoutMs: LOG_PATIENCE_MS,
    clock,
    ids,
    log,
    ...options,
  });

/** All zones lose their power at once. Resolves with the acknowledged writes that are gone, or why nothing can be read. */
async function lossesOfLog(
  syncAlways: boolean,
): Promise<{ readonly forgot: number; readonly lost: readonly string[] }> {
  await using disk = await startForgetfulDisk();
  await using servers = await startLogServers({ count: 3, syncAlways, dataIn: disk.folder });
  const store = await openLog(servers, { allowUnsafe: !syncAlways });
  const acknowledged = await writeSome(store, 0);
  await Promise.all([0, 1, 2].map((index) => servers.kill(index)));
  await store.close();
  const forgot = await disk.losePower();
  await Promise.all([0, 1, 2].map((index) => servers.start(index)));
  try {
    const again = await openLog(servers, syncAlways ? {} : { allowUnsafe: true, startTimeoutMs: LOST_AFTER_MS });
    const lost = await missing(again, acknowledged);
    await again.close();
    return { forgot, lost };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { forgot, lost: [error.message] };
  }
}

/** Resolves with the acknowledged writes that are gone after the first of so many losses of power that loses any. */
async function lossesOfRedis(appendfsync: string, times: number): Promise<readonly string[]> {
  await using disk = await startForgetfulDisk();
  await using server = await startRedis({ dir: disk.folder, appendfsync });
  for (let round = 0; round < times; round++) {
    const store = await createRedisStore({ url: server.url, clock, ids, log, allowUnsafe: appendfsync !== 'always' });
    const acknowledged = await writeSome(store, round);
    await server.kill();
    await store.close();
    await disk.losePower();
    await server.restart();
    const again = await createRedisStore({ url: server.url, clock, ids, log, allowUnsafe: appendfsync !== 'always' });
    const lost = await missing(again, acknowledged);
    await again.close();
    if (lost.length > 0) return lost;
  }
  return [];
}

/** Most of their time they wait for elections of servers of their own. */
describe('a loss of power', { concurrency: true }, () => {
  test('log: all zones lose their power at once: with sync_interval always nothing acknowledged is lost', {
    skip,
  }, async () => {
    assert.deepEqual((await lossesOfLog(true)).lost, []);
  });

  test('negative control: with the default sync_interval the same power loss loses acknowledged writes', {
    skip,
  }, async () => {
    const { forgot, lost } = await lossesOfLog(false);
    assert.ok(forgot > 0 && lost.length > 0, `forgot ${forgot} bytes, lost ${lost.length}`);
  });

  test('redis: the machine loses its power: with appendfsync always nothing acknowledged is lost', {
    skip,
  }, async () => {
    assert.deepEqual(await lossesOfRedis('always', 1), []);
  });

  test('negative control: with appendfsync everysec the same power loss loses acknowledged writes', {
    skip,
  }, async () => {
    // The server may have synced just before the power went.
    assert.ok((await lossesOfRedis('everysec', 10)).length > 0);
  });

  for (const [what, spoil, mend] of [
    ['full', (disk) => disk.fill(true), (disk) => disk.fill(false)],
    ['read-only', (disk) => disk.protect(true), (disk) => disk.protect(false)],
  ] as const satisfies readonly DiskFault[])
    test(`redis: its disk is ${what}: nothing that is acknowledged is lost, and it serves again when the disk does`, {
      skip,
    }, async () => {
      await using disk = await startForgetfulDisk();
      await using server = await startRedis({ dir: disk.folder });
      const options = { url: server.url, clock, ids, log, writeDeadlineMs: 1_000 };
      const store = await createRedisStore(options);
      const acknowledged = [...(await writeSome(store, 0))];
      await spoil(disk);
      const failing = Array.from({ length: 5 }, (_, n) => `core/pods/default/spoilt-${n}`);
      for (const key of failing) {
        const written = store.write([{ kind: 'create', key, value: '{}' }], { writeId: key });
        await written.then(({ outcome }) => outcome === 'committed' && acknowledged.push(key)).catch(() => undefined);
      }
      await mend(disk);
      // The server ends itself when it cannot keep what it acknowledges; whoever supervises it starts it again.
      await server.restart();
      await eventually(async () => (await store.health()).length === 0, 'the store serves again');
      for (const key of failing) {
        const again = await store.write([{ kind: 'create', key, value: '{}' }], { writeId: key });
        assert.equal(again.outcome, 'committed', 'a write that was repeated under its id happens once');
      }
      assert.deepEqual(await missing(store, [...acknowledged, ...failing]), []);
      await store.close();
    });

  test('redis: its disk is slow: writes wait for it and are kept', { skip }, async () => {
    await using disk = await startForgetfulDisk();
    await using server = await startRedis({ dir: disk.folder });
    const store = await createRedisStore({ url: server.url, clock, ids, log });
    await disk.slow(SLOW_MS);
    const key = 'core/pods/default/slow';
    const beganMs = clock.monotonic();
    await store.write([{ kind: 'create', key, value: '{}' }]);
    assert.ok(clock.monotonic() - beganMs >= SLOW_MS, 'nothing is acknowledged before it is on the disk');
    await disk.slow(0);
    assert.deepEqual(await missing(store, [key]), []);
    await store.close();
  });

  test('log: the disk of one zone is full: the others go on; with room again it follows', { skip }, async () => {
    await using disk = await startForgetfulDisk();
    await using other = await startForgetfulDisk();
    const dataIn = (index: number): string => (index === 0 ? disk : other).folder;
    await using servers = await startLogServers({ count: 3, dataIn });
    const store = await openLog(servers);
    const before = await writeSome(store, 0);
    await disk.fill(true);
    const during = Array.from({ length: WRITES_WHEN_FULL }, (_, n) => `core/pods/default/full-${n}`);
    for (const key of during) {
      const operation = { kind: 'create', key, value: JSON.stringify('x'.repeat(VALUE_CHARACTERS)) } as const;
      await eventually(
        async () => (await store.write([operation], { writeId: key })).outcome === 'committed',
        'the others commit',
      );
    }
    await disk.fill(false);
    await servers.kill(0);
    await servers.start(0);
    await servers.kill(1);
    const late = await openLog(servers);
    assert.deepEqual(await missing(late, [...before, ...during]), []);
    assert.equal(store.haltedBy(), undefined);
    await Promise.all([store.close(), late.close()]);
  });
});
