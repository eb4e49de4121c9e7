import { strict as assert } from 'node:assert';
import { after, test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import type { DurableStore, Store } from '@holdfast/store';
import { storeContract, storeHistoryProperty } from '@holdfast/store/contract';
import { createRedisStore, type RedisStoreOptions } from '@holdfast/store/redis';
import { Redis } from 'ioredis';
import { freePort, startRedis } from '../support/redis-server.ts';

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

const openEmptyStore = async (): Promise<{ store: Store; close: () => Promise<void> }> => {
  await flush(shared.url);
  const store = await open(shared.url);
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

test('redis: a server that acknowledges before its fsync is refused, with everything that is wrong', async () => {
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
  await assert.rejects(open(url, { startTimeoutMs: 200 }), (error) => {
    rejectsWithCode('STORE_UNREACHABLE', /ECONNREFUSED/)(error);
    assert.doesNotMatch(String(error), /secret/);
    return true;
  });
});
