import { OperatorError } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import type { StoreContent } from '../backup.ts';
import { sizeOfState } from '../internal/change-size.ts';
import { RESTORE_BATCH_OBJECTS } from '../limits.ts';
import type { Revision, StoredObject } from '../port.ts';
import { type AdoptRedisOptions, withServer } from './adopt.ts';
import { checksumOf } from './checksum.ts';
import { indexKey, LAYOUT_FORMAT, META_KEY, OBJECT_KEY_PREFIX, objectHashKey, splitKey } from './layout.ts';
import { adopt } from './server.ts';

const BEING_RESTORED = 'being restored';

/**
 * Puts these objects into an empty server, in a new epoch above all their revisions. Until the end the store says that
 * it is being restored, and serves nobody.
 */
export const restoreRedisStore = (
  options: AdoptRedisOptions,
  incarnation: string,
  content: StoreContent,
): Promise<Revision> =>
  withServer(options, 'restore', async (redis) => {
    await begin(redis, incarnation, content);
    let bytes = 0;
    for (let from = 0; from < content.objects.length; from += RESTORE_BATCH_OBJECTS) {
      bytes += await write(redis, content.objects.slice(from, from + RESTORE_BATCH_OBJECTS));
    }
    await redis.hset(META_KEY, 'ob', bytes);
    const adopted = await adopt(redis);
    if (adopted === undefined) throw changedMeanwhile();
    return adopted.revision;
  });

/** `HSETNX` decides between two who restore at once. */
async function begin(redis: Redis, incarnation: string, { revision }: StoreContent): Promise<void> {
  const [, others] = await redis.scan(0, 'MATCH', `${OBJECT_KEY_PREFIX}*`, 'COUNT', 1_000);
  if (others.length > 0 || (await redis.hsetnx(META_KEY, 'state', BEING_RESTORED)) === 0) {
    throw (await redis.hget(META_KEY, 'state')) === BEING_RESTORED ? halfRestored() : notEmpty();
  }
  const meta = {
    rev: revision,
    compact: revision,
    inc: incarnation,
    epoch: 1,
    fmt: LAYOUT_FORMAT,
    ob: 0,
    hb: 0,
    cb: 0,
  };
  await redis.hset(META_KEY, meta);
}

async function write(redis: Redis, objects: readonly StoredObject[]): Promise<number> {
  const pipeline = redis.pipeline();
  let bytes = 0;
  for (const { key, value, revision, createRevision } of objects) {
    const { resource, member } = splitKey(key);
    const size = sizeOfState(key, value);
    pipeline.hset(objectHashKey(key), {
      v: value,
      r: revision,
      c: createRevision,
      s: size,
      x: `${revision} ${checksumOf(key, value)}`,
    });
    pipeline.zadd(indexKey(resource), 0, member);
    bytes += size;
  }
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
  return bytes;
}

const notEmpty = (): OperatorError =>
  new OperatorError({
    code: 'STORE_NOT_EMPTY',
    message: 'The Redis server holds a store, and nothing was restored',
    nextStep: 'Use an empty server.',
  });

const halfRestored = (): OperatorError =>
  new OperatorError({
    code: 'STORE_HALF_RESTORED',
    message: 'The Redis server holds a part of a backup, and nothing was restored',
    nextStep: 'If no other restore runs, empty the server with `redis-cli FLUSHALL`, then repeat this command.',
  });

const changedMeanwhile = (): OperatorError =>
  new OperatorError({
    code: 'STORE_CHANGED',
    message: 'The Redis server lost data while they were restored',
    nextStep: 'Look at the log of the server, empty it, and restore again.',
  });
