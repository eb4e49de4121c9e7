import { InvariantViolation, type Log, OperatorError } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import { sizeOfState } from '../internal/change-size.ts';
import { FEED_BATCH_CHANGES, REDIS_LIST_PAGE_OBJECTS } from '../limits.ts';
import type { Change, StoreKey } from '../port.ts';
import { checksumOf, DamagedValue, isObjectWhole } from './checksum.ts';
import { HISTORY_KEY, indexKey, META_KEY, OBJECT_KEY_PREFIX, objectHashKey, splitKey } from './layout.ts';
import { decodeEntry } from './replies.ts';

type Warn = Pick<Log, 'warn'>;

/**
 * Looks at every object before its data are adopted: the history that is kept says what it has to be. A damaged one that the history
 * does not name any more stays as it is, if the API server can read it. Nobody writes meanwhile.
 */
export async function mendObjects(redis: Redis, log: Warn): Promise<void> {
  const told = await newestChanges(redis, log);
  for (const change of told.values()) await followHistory(redis, change, log);
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${OBJECT_KEY_PREFIX}*`, 'COUNT', REDIS_LIST_PAGE_OBJECTS);
    for (const key of keys.map((each) => each.slice(OBJECT_KEY_PREFIX.length)))
      if (!told.has(key)) await accept(redis, key, log);
    cursor = next;
  } while (cursor !== '0');
}

/** The last change of each object. An entry that is damaged itself says nothing. */
async function newestChanges(redis: Redis, log: Warn): Promise<ReadonlyMap<StoreKey, Change>> {
  const newest = new Map<StoreKey, Change>();
  for (let after = '-'; ; ) {
    const entries = await redis.xrange(HISTORY_KEY, after, '+', 'COUNT', FEED_BATCH_CHANGES);
    for (const [id, fields] of entries) {
      const change = readEntry(id, fields);
      if (change === undefined) log.warn('a damaged entry of the history is left out', { id });
      else newest.set(change.key, change);
    }
    const last = entries.at(-1)?.[0];
    if (last === undefined) return newest;
    after = `(${last}`;
  }
}

function readEntry(id: string, fields: string[]): Change | undefined {
  try {
    return decodeEntry(id, fields).change;
  } catch (error) {
    if (error instanceof DamagedValue || error instanceof InvariantViolation) return undefined;
    throw error;
  }
}

async function followHistory(redis: Redis, { key, kind, revision, value }: Change, log: Warn): Promise<void> {
  const { resource, member } = splitKey(key);
  const hash = objectHashKey(key);
  const [found, r, c, s, check] = await redis.hmget(hash, 'v', 'r', 'c', 's', 'x');
  const size = kind === 'deleted' ? 0 : sizeOfState(key, value);
  if (kind !== 'deleted') await redis.zadd(indexKey(resource), 0, member);
  else await Promise.all([redis.del(hash), redis.zrem(indexKey(resource), member)]);
  const isRight =
    kind === 'deleted'
      ? typeof found !== 'string'
      : found === value && r === String(revision) && isObjectWhole(key, value, r, check);
  if (isRight) return;
  if (kind !== 'deleted') {
    const created = kind === 'created' ? revision : (c ?? revision);
    await redis.hset(hash, { v: value, r: revision, c: created, s: size, x: `${revision} ${checksumOf(key, value)}` });
  }
  const objectBytes = Number((await redis.hget(META_KEY, 'ob')) ?? 0);
  await redis.hset(META_KEY, 'ob', objectBytes + size - (Number(s ?? 0) || 0));
  log.warn('a damaged object was made what the history says', { key, revision });
}

async function accept(redis: Redis, key: StoreKey, log: Warn): Promise<void> {
  const [value, revision, check] = await redis.hmget(objectHashKey(key), 'v', 'r', 'x');
  if (typeof value !== 'string' || typeof revision !== 'string' || isObjectWhole(key, value, revision, check)) return;
  if (!isJson(value)) throw lost(key);
  await redis.hset(objectHashKey(key), { x: `${revision} ${checksumOf(key, value)}` });
  log.warn('a damaged value was kept as it is: look at the object', { key, revision });
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

const lost = (key: StoreKey): OperatorError =>
  new OperatorError({
    code: 'STORE_DAMAGED',
    message: `The Redis server has a damaged value of ${key}, and nothing was adopted`,
    nextStep: 'Restore a backup into an empty server (docs/recovery.md).',
  });
