import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, OperatorError } from '@holdfast/platform';
import type { StoredObject } from '@holdfast/store';
import { createRedisStore, restoreRedisStore } from '@holdfast/store/redis';
import { Redis } from 'ioredis';
import { startRedis } from '../support/redis-server.ts';

const machine = { clock: createSystemClock(), ids: createIds(createSystemRandom()), log: createSilentLog() };

test('a restored Redis has equal objects above all earlier revisions; a used one is refused', async () => {
  await using redis = await startRedis();
  const objects: StoredObject[] = Array.from({ length: 1_201 }, (_, i) => ({
    key: `core/configmaps/default/map-${String(i).padStart(4, '0')}`,
    value: `{"data":{"n":"${i}"}}`,
    revision: 2 * i + 2,
    createRevision: i % 2 === 0 ? 2 * i + 2 : 1,
  }));
  const content = { objects, revision: 5_000 };
  const revision = await restoreRedisStore({ ...machine, url: redis.url }, 'a new one', content);
  const store = await createRedisStore({ ...machine, url: redis.url });
  try {
    const page = await store.list('');
    assert.deepEqual(page.objects, objects);
    assert.ok(revision > content.revision && page.revision === revision);
    assert.equal(store.lineage().incarnation, 'a new one');
    const [first] = objects;
    assert.ok(first !== undefined);
    const before = store.usage().objectBytes;
    const removal = { kind: 'delete', key: first.key, value: first.value, expectedRevision: first.revision } as const;
    const written = await store.write([removal]);
    assert.deepEqual(written, { outcome: 'committed', firstRevision: revision + 1, lastRevision: revision + 1 });
    assert.ok(store.usage().objectBytes < before && store.usage().objectBytes > 0);
  } finally {
    await store.close();
  }
  await assert.rejects(restoreRedisStore({ ...machine, url: redis.url }, 'another', content), (error) => {
    assert.ok(error instanceof OperatorError);
    assert.match(error.message, /holds a store/);
    assert.doesNotMatch(error.nextStep, /FLUSH/, 'it would destroy the store that is served');
    return true;
  });
});

test('a Redis with a part of a backup, whose restore was interrupted, is told apart from a used one', async () => {
  await using redis = await startRedis();
  const client = new Redis(redis.url);
  await client.hset('{k8s}:m', 'state', 'being restored');
  client.disconnect();
  await assert.rejects(restoreRedisStore({ ...machine, url: redis.url }, 'another', { objects: [], revision: 1 }), {
    code: 'STORE_HALF_RESTORED',
    nextStep: /empty the server with `redis-cli FLUSHALL`/,
  });
});
