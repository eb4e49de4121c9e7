import { strict as assert } from 'node:assert';
import { describe, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { type DurableStore, StoreUnavailable } from '@holdfast/store';
import { createLogStore, type LogStoreOptions } from '@holdfast/store/log';
import { connect } from 'nats';
import { checkHistory } from '../../libs/store/src/contract/history-check.ts';
import { changesUpTo } from '../../libs/store/src/contract/support.ts';
import { streamInfo } from '../../libs/store/src/log/jetstream.ts';
import { logNames } from '../../libs/store/src/log/layout.ts';
import { readCurrent } from '../../libs/store/src/log/open-log.ts';
import { LOG_PATIENCE_MS, type LogServers, startLogServers } from '../support/log-servers.ts';
import { RegisterHistory } from '../support/register-history.ts';

/** A refused client comes back after this time. */
const RETRY_MS = 20;
const ids = createIds(createSystemRandom());

function open(servers: LogServers, options: Partial<LogStoreOptions> = {}): Promise<DurableStore> {
  const { urls, monitors, acceptOldServers } = servers;
  const shared = { clock: createSystemClock(), ids, log: createSilentLog(), startTimeoutMs: LOG_PATIENCE_MS };
  return createLogStore({ servers: urls, monitors, replicas: urls.length, acceptOldServers, ...shared, ...options });
}

/** Where the log's leader is, and whether its followers are current. */
async function standingOf(servers: LogServers): Promise<{ readonly leader: number; readonly isWhole: boolean }> {
  const connection = await connect({ servers: [...servers.urls] });
  try {
    const current = await readCurrent(connection, logNames());
    const cluster = (await streamInfo(connection, current?.stream ?? ''))?.cluster ?? {};
    const replicas = Array.isArray(cluster['replicas']) ? cluster['replicas'] : [];
    const isWhole =
      replicas.length === 2 && replicas.every((replica) => replica.current === true && replica.offline !== true);
    return { leader: Number(typeof cluster['leader'] === 'string' ? cluster['leader'].slice(1) : -1), isWhole };
  } finally {
    await connection.close();
  }
}

async function wholeCluster(servers: LogServers): Promise<number> {
  let leader = -1;
  await eventually(async () => {
    const standing = await standingOf(servers).catch(() => undefined);
    leader = standing?.leader ?? -1;
    return standing?.isWhole === true && leader >= 0;
  }, 'the log has a leader and all replicas are current');
  return leader;
}

/** Clients that write registers with compare-and-swap and read them, until they are told to end. */
class Load {
  readonly history = new RegisterHistory();
  readonly #clock = createSystemClock();
  #isEnding = false;
  readonly #running: Promise<void>;

  constructor(stores: readonly DurableStore[], clients: number) {
    const all = Array.from({ length: clients }, (_, client) => this.#run(stores[client % stores.length], client));
    this.#running = Promise.all(all).then(() => undefined);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #run(store: DurableStore | undefined, client: number): Promise<void> {
    for (let step = 0; !this.#isEnding && store !== undefined; step++) {
      await this.history.step(store, client, step).catch(async (error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
        await this.#clock.sleep(RETRY_MS);
      });
    }
  }
}

async function progress(load: Load, writes: number): Promise<void> {
  const goal = load.history.acknowledged + writes;
  await eventually(() => load.history.acknowledged >= goal, 'writes are acknowledged');
}

/** Most of their time they wait for elections and deadlines of their own servers. */
describe('faults of the servers of a log', { concurrency: true }, () => {
  test('log: the leader is killed again and again: nothing acknowledged is lost, every history is linearizable', async () => {
    await using servers = await startLogServers({ count: 3 });
    const stores = [await open(servers), await open(servers)];
    const load = new Load(stores, 12);
    await progress(load, 100);
    for (let kill = 0; kill < 3; kill++) {
      const leader = await wholeCluster(servers);
      await servers.kill(leader);
      await progress(load, 100);
      await servers.start(leader);
    }
    await progress(load, 100);
    await load.end();
    const late = await open(servers);
    const revision = await late.currentRevision();
    const views = await Promise.all([...stores, late].map((store) => changesUpTo(store, 0, revision)));
    for (const view of views) assert.deepEqual(view, views[0]);
    checkHistory(load.history.events, views[0] ?? []);
    for (const store of stores) assert.equal(store.haltedBy(), undefined);
    await Promise.all([...stores, late].map((store) => store.close()));
  });

  test('log: a suspended leader and a lost majority: nothing stale is read, nothing acknowledged is lost', async () => {
    await using servers = await startLogServers({ count: 3 });
    const stores = [await open(servers), await open(servers)];
    const load = new Load(stores, 8);
    await progress(load, 50);
    const leader = await wholeCluster(servers);
    servers.pause(leader);
    await progress(load, 50);
    servers.resume(leader);
    await wholeCluster(servers);
    await Promise.all([servers.kill(0), servers.kill(1)]);
    await eventually(async () => (await stores[0]?.health())?.length !== 0, 'without a majority the store says so');
    await Promise.all([servers.start(0), servers.start(1)]);
    await progress(load, 50);
    await load.end();
    const revision = (await stores[0]?.currentRevision()) ?? 0;
    const views = await Promise.all(stores.map((store) => changesUpTo(store, 0, revision)));
    assert.deepEqual(views[0], views[1]);
    checkHistory(load.history.events, views[0] ?? []);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('log: a process that hears nothing of the log answers no read from what it knew', async () => {
    await using servers = await startLogServers({ count: 3 });
    const writer = await open(servers);
    const leader = await wholeCluster(servers);
    const silent = (leader + 1) % 3;
    const order = [silent, leader, (leader + 2) % 3].map((index) => servers.urls[index] ?? '');
    const [reader, key] = [await open(servers, { servers: order }), 'core/pods/default/a'];
    // The writer may be connected to the server that falls silent; then its write is only slower.
    await writer.write([{ kind: 'create', key, value: '"old"' }]);
    assert.equal((await reader.get(key)).object?.value, '"old"');
    servers.pause(silent);
    await eventually(async () => {
      const result = await writer.write([{ kind: 'update', key, value: '"new"', expectedRevision: 1 }], {
        writeId: 'w',
      });
      return result.outcome === 'committed';
    }, 'the others commit');
    const seen = await reader.get(key).then(
      ({ object }) => object?.value,
      (error: unknown) => (error instanceof StoreUnavailable ? 'refused' : String(error)),
    );
    assert.notEqual(seen, '"old"');
    await eventually(async () => (await reader.get(key)).object?.value === '"new"', 'the reader moves on');
    servers.resume(silent);
    await Promise.all([reader, writer].map((store) => store.close()));
  });
});
