import { strict as assert } from 'node:assert';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import type { DurableStore } from '@holdfast/store';
import { type CreateStore, recount, storeContract, storeHistoryProperty } from '@holdfast/store/contract';
import { createRedisStore, type RedisStoreOptions } from '@holdfast/store/redis';
import { Redis } from 'ioredis';
import { COMMIT, GET } from '../../libs/store/src/redis/scripts.ts';
import { freePort } from '../support/free-port.ts';
import { startRedis } from '../support/redis-server.ts';

const shared = await startRedis();
after(() => shared.stop());

function open(url: string, options: Partial<RedisStoreOptions> = {}): Promise<DurableStore> {
  const ids = createIds(createSystemRandom());
  return createRedisStore({ url, clock: createSystemClock(), ids, log: createSilentLog(), ...options });
}

async function flush(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.flushall();
  redis.disconnect();
}

const openEmptyStore: CreateStore = async (options = {}) => {
  await flush(shared.url);
  const store = await open(shared.url, options);
  return { store, close: () => store.close() };
};

storeContract('redis', openEmptyStore);
storeHistoryProperty('redis', openEmptyStore, { runs: 25, stepsPerClient: 20 });

const rejectsWithCode = (code: string, pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OperatorError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  assert.ok(error.nextStep.length > 0);
  return true;
};

test('redis: a server that acknowledges before its fsync is refused, with all wrong settings', async () => {
  await using server = await startRedis({ appendfsync: 'everysec', 'maxmemory-policy': 'allkeys-lru' });
  await assert.rejects(
    open(server.url),
    rejectsWithCode('STORE_UNSAFE', /appendfsync is "everysec".*maxmemory-policy/),
  );
});

test('redis: an unsafe server is used when the operator allows it', async () => {
  await using server = await startRedis({ appendfsync: 'everysec' });
  const store = await open(server.url, { allowUnsafe: true });
  const result = await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{}' }]);
  assert.equal(result.outcome, 'committed');
  assert.deepEqual(await store.health(), []);
  await store.close();
});

test('redis: a server that cannot be reached is an operator error that hides the password', async () => {
  const url = `redis://user:secret@127.0.0.1:${await freePort()}`;
  await assert.rejects(open(url, { startTimeoutMs: 2_000 }), (error) => {
    rejectsWithCode('STORE_UNREACHABLE', /ECONNREFUSED/)(error);
    assert.doesNotMatch(String(error), /secret/);
    return true;
  });
});

/** The words of every command that the server runs. ioredis' own monitor fails when the first one comes together with the OK. */
async function openMonitor({ options }: Redis, see: (words: string[]) => void): Promise<Socket> {
  const socket = connect(options.port ?? 6379, options.host ?? '127.0.0.1');
  let isOn = false;
  let rest = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '+OK') isOn = true;
      else see(Array.from(line.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, word = '']) => word));
    }
  });
  socket.write('MONITOR\r\n');
  await eventually(() => isOn, 'the server tells what it runs');
  return socket;
}

/** Watches which scripts are run; the store looks after the server meanwhile, with scripts of other kinds. */
async function watchScripts(redis: Redis) {
  const seen: string[][] = [];
  const monitor = await openMonitor(redis, (words) => seen.push(words));
  return {
    /** The number of keys of each run of this script. */
    runsOf: async ({ sha }: { readonly sha: string }): Promise<readonly number[]> => {
      const mark = `until here ${seen.length}`;
      await redis.echo(mark);
      await eventually(() => seen.some((words) => words.includes(mark)), 'the monitor has seen what was run');
      const runs = seen.filter(([name = '', of]) => name.toLowerCase() === 'evalsha' && of === sha);
      return runs.map((words) => Number(words[2]));
    },
    [Symbol.dispose]: () => monitor.destroy(),
  };
}

test('redis: concurrent writes and reads share a command, and each has its own answer', async () => {
  await using server = await startRedis();
  const store = await open(server.url);
  const redis = new Redis(server.url);
  try {
    const create = (name: string) => ({ kind: 'create', key: `core/pods/ns/${name}`, value: `"${name}"` }) as const;
    await store.write([create('old')]);
    await store.get('core/pods/ns/old');
    using scripts = await watchScripts(redis);
    const results = await Promise.all([
      store.write([create('a')]),
      store.write([create('old')]),
      store.write([create('b'), create('c')]),
      store.write([{ kind: 'update', key: 'core/pods/ns/a', value: '"newer"', expectedRevision: 2 }]),
      store.write([create('d'), { kind: 'delete', key: 'core/pods/ns/old', value: '{}', expectedRevision: 7 }]),
      store.write([create('a')], { writeId: 'given' }),
      store.write([{ kind: 'delete', key: 'core/pods/ns/absent', value: '{}', expectedRevision: 1 }]),
    ]);
    assert.deepEqual(results, [
      { outcome: 'committed', firstRevision: 2, lastRevision: 2 },
      { outcome: 'exists', index: 0, currentRevision: 1 },
      { outcome: 'committed', firstRevision: 3, lastRevision: 4 },
      { outcome: 'committed', firstRevision: 5, lastRevision: 5 },
      { outcome: 'conflict', index: 1, currentRevision: 1 },
      { outcome: 'exists', index: 0, currentRevision: 5 },
      { outcome: 'notFound', index: 0 },
    ]);
    assert.equal((await scripts.runsOf(COMMIT)).length, 1);
    const found = await Promise.all(['a', 'd', 'c', 'old'].map((name) => store.get(`core/pods/ns/${name}`)));
    assert.deepEqual(
      found.map(({ revision, object }) => [revision, object?.value]),
      [
        [5, '"newer"'],
        [5, undefined],
        [5, '"c"'],
        [5, '"old"'],
      ],
    );
    assert.deepEqual(await scripts.runsOf(GET), [5]);
  } finally {
    redis.disconnect();
    await store.close();
  }
});

test('redis: many writes of one turn share scripts, eight writes per script', async () => {
  await using server = await startRedis();
  const store = await open(server.url);
  const redis = new Redis(server.url);
  try {
    const create = (name: string) => ({ kind: 'create', key: `core/pods/ns/${name}`, value: '{}' }) as const;
    await store.write([create('first')]);
    using scripts = await watchScripts(redis);
    await Promise.all(Array.from({ length: 20 }, (_, i) => store.write([create(`p${i}`)])));
    const [ofAll, ofEach] = [4, 2];
    assert.deepEqual(
      await scripts.runsOf(COMMIT),
      [8, 8, 4].map((writes) => ofAll + ofEach * writes),
    );
  } finally {
    redis.disconnect();
    await store.close();
  }
});

test('redis: the number of commands of a burst of writes and reads follows its size', async () => {
  await using server = await startRedis();
  const store = await open(server.url);
  try {
    const names = Array.from({ length: 150 }, (_, i) => `core/pods/ns/p${i}`);
    const large = JSON.stringify('x'.repeat(400 * 1024));
    const results = await Promise.all(
      names.map((key, i) => store.write([{ kind: 'create', key, value: i % 30 === 0 ? large : '{}' }])),
    );
    assert.deepEqual(
      results.map((each) => (each.outcome === 'committed' ? each.firstRevision : each.outcome)),
      names.map((_, i) => i + 1),
    );
    const found = await Promise.all(names.map((key) => store.get(key)));
    assert.deepEqual(
      found.map(({ object }) => object?.createRevision),
      names.map((_, i) => i + 1),
    );
  } finally {
    await store.close();
  }
});

test('redis: the size survives a restart, and is the same in every process', async () => {
  await flush(shared.url);
  const store = await open(shared.url);
  for (let n = 0; n < 20; n++)
    await store.write([{ kind: 'create', key: `core/pods/default/p${n}`, value: '{"a":"ä"}' }]);
  await store.compact(7);
  const other = await open(shared.url);
  assert.deepEqual(other.usage(), store.usage());
  assert.deepEqual({ ...(await recount(other)), limits: undefined }, other.usage());
  await Promise.all([store.close(), other.close()]);
});

test('redis: the store of an earlier version without a size is counted when it is opened', async () => {
  await flush(shared.url);
  const store = await open(shared.url);
  for (let n = 0; n < 20; n++) await store.write([{ kind: 'create', key: `core/pods/default/p${n}`, value: '{}' }]);
  await store.compact(3);
  await store.close();
  await forgetSizes(shared.url);
  const again = await open(shared.url);
  assert.deepEqual({ ...(await recount(again)), limits: undefined }, again.usage());
  await again.compact(9);
  await again.write([{ kind: 'delete', key: 'core/pods/default/p1', value: '{}', expectedRevision: 2 }]);
  await again.compact(21);
  assert.deepEqual({ ...(await recount(again)), limits: undefined }, again.usage());
  await again.close();
});

/** Makes the data what it was before sizes were kept. */
async function forgetSizes(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.hdel('{k8s}:m', 'ob', 'hb', 'cb');
  for (const key of await redis.keys('{k8s}:o:*')) await redis.hdel(key, 's');
  const entries = await redis.xrange('{k8s}:h', '-', '+');
  await redis.del('{k8s}:h');
  for (const [id, fields] of entries) await redis.xadd('{k8s}:h', id, ...fields.slice(0, 10));
  redis.disconnect();
}
