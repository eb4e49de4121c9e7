/**
 * Measures the store backends on this machine: `node bench/store.ts [memory] [sqlite] [redis] [log]`. First prints the disk's
 * fsync time, which limits durable writes.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '../libs/platform/src/index.ts';
import type { Store } from '../libs/store/src/index.ts';
import { createLogStore } from '../libs/store/src/log/index.ts';
import { createMemoryStore } from '../libs/store/src/memory/index.ts';
import { createRedisStore } from '../libs/store/src/redis/index.ts';
import { createSqliteStore } from '../libs/store/src/sqlite/index.ts';
import { startLogServers } from '../test/support/log-servers.ts';
import { startRedis } from '../test/support/redis-server.ts';

const OBJECT = JSON.stringify({ kind: 'Pod', padding: 'x'.repeat(1_450) });
const WRITES = 20_000;
const READS = 40_000;
const LIST_ROUNDS = 20;
const FSYNCS = 200;

const clock = createSystemClock();
const ids = createIds(createSystemRandom());
const log = createSilentLog();

interface Opened {
  readonly store: Store;
  readonly close: () => Promise<void>;
}

const BACKENDS: Readonly<Record<string, (directory: string) => Promise<Opened>>> = {
  memory: async () => {
    const store = createMemoryStore();
    return { store, close: () => store.close() };
  },
  sqlite: async (directory) => {
    const store = await createSqliteStore({ directory, clock, ids, log });
    return { store, close: () => store.close() };
  },
  log: async () => {
    const servers = await startLogServers({ count: 3 });
    const { urls, monitors, acceptOldServers } = servers;
    const options = { servers: urls, monitors, acceptOldServers, clock, ids, log };
    // Three API servers, as in the distributed form: each applies everything.
    const stores = [await createLogStore(options), await createLogStore(options), await createLogStore(options)];
    const [store] = stores;
    if (store === undefined) throw new Error('no store');
    return {
      store,
      close: async () => {
        for (const each of stores) await each.close();
        await servers[Symbol.asyncDispose]();
      },
    };
  },
  redis: async () => {
    const server = await startRedis();
    const store = await createRedisStore({ url: server.url, clock, ids, log });
    return {
      store,
      close: async () => {
        await store.close();
        await server.stop();
      },
    };
  },
};

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  for (const [name, open] of Object.entries(BACKENDS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
    print(name, 'fsync of the disk', `median ${percentile(fsyncTimes(directory), 0.5).toFixed(2)} ms`);
    const { store, close } = await open(directory);
    await measureStore(name, store);
    await close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function measureStore(name: string, store: Store): Promise<void> {
  let next = 0;
  let changesSeen = 0;
  const stop = new AbortController();
  const following = (async () => {
    for await (const batch of store.changes({ after: 0, signal: stop.signal })) changesSeen += batch.length;
  })();
  const create = async (): Promise<void> => {
    const result = await store.write([{ kind: 'create', key: `core/pods/default/p-${next++}`, value: OBJECT }]);
    if (result.outcome !== 'committed') throw new Error(result.outcome);
  };
  for (const inFlight of [1, 32, 256]) {
    const count = inFlight === 1 ? WRITES / 10 : WRITES;
    await report(name, { what: `create, ${inFlight} in flight`, count, inFlight, call: create });
  }
  const measurements: readonly Measurement[] = [
    {
      what: 'get',
      count: READS,
      inFlight: 32,
      call: async () => void (await store.get(`core/pods/default/p-${next >> 1}`)),
    },
    { what: 'current revision', count: READS, inFlight: 32, call: async () => void (await store.currentRevision()) },
    {
      what: 'list of 500',
      count: LIST_ROUNDS,
      inFlight: 1,
      call: async () => void (await store.list('core/pods/', { limit: 500 })),
    },
    { what: `list of all ${next}`, count: 3, inFlight: 1, call: async () => void (await store.list('core/pods/')) },
  ];
  for (const measurement of measurements) await report(name, measurement);
  while (changesSeen < next) await clock.sleep(1);
  stop.abort();
  await following;
}

interface Measurement {
  readonly what: string;
  readonly count: number;
  readonly inFlight: number;
  readonly call: () => Promise<void>;
}

async function report(name: string, { what, count, inFlight, call }: Measurement): Promise<void> {
  const times: number[] = [];
  let started = 0;
  const begin = clock.monotonic();
  const client = async (): Promise<void> => {
    while (started < count) {
      started += 1;
      const at = clock.monotonic();
      await call();
      times.push(clock.monotonic() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, client));
  const rate = Math.round((count / (clock.monotonic() - begin)) * 1000);
  print(
    name,
    what,
    `${rate}/s, p50 ${percentile(times, 0.5).toFixed(2)} ms, p99 ${percentile(times, 0.99).toFixed(2)} ms`,
  );
}

function fsyncTimes(directory: string): number[] {
  const descriptor = openSync(join(directory, 'fsync'), 'w');
  const block = Buffer.alloc(4096, 'x');
  const times = Array.from({ length: FSYNCS }, () => {
    writeSync(descriptor, block);
    const at = clock.monotonic();
    fdatasyncSync(descriptor);
    return clock.monotonic() - at;
  });
  closeSync(descriptor);
  return times;
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;
}

function print(name: string, what: string, result: string): void {
  process.stdout.write(`${name.padEnd(7)} ${what.padEnd(40)} ${result}\n`);
}

await main();
