import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import type { StoredObject } from '@holdfast/store';
import { createRedisStore, restoreRedisStore } from '@holdfast/store/redis';
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
  await assert.rejects(restoreRedisStore({ ...machine, url: redis.url }, 'another', content), /holds a store/);
});
