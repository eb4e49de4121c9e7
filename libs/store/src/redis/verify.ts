import { InvariantViolation } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import { FEED_BATCH_CHANGES, REDIS_GETS_TOGETHER } from '../limits.ts';
import type { Revision, StoredObject, StoreKey } from '../port.ts';
import { callScript } from './call.ts';
import { DamagedValue } from './checksum.ts';
import { HISTORY_KEY, indexKey, META_KEY, objectHashKey, splitKey } from './layout.ts';
import { decodeEntry, decodeGet, number } from './replies.ts';
import { GET } from './scripts.ts';

/** The history was compacted under the reader so often: it has a few seconds each time. */
const ROUNDS_MAX = 3;

interface Newest {
  readonly revision: Revision;
  readonly isDeleted: boolean;
}

/**
 * Compares the objects with the history that is kept, once after each start of the server (`run`): it has then read its file, which has no
 * checksum, and a flipped bit in a name leaves an object as it was. Throws `DamagedValue`.
 */
export async function verifyOnce(redis: Redis, run: string): Promise<void> {
  if ((await redis.hget(META_KEY, 'checked')) === run) return;
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const compacted = await compactedOf(redis);
    const damage = await damageSince(redis, compacted);
    if (damage === undefined) break;
    // What was dropped under the reader may have been the deletion that explains it.
    if ((await compactedOf(redis)) === compacted) throw new DamagedValue(damage);
  }
  await redis.hset(META_KEY, 'checked', run);
}

const compactedOf = async (redis: Redis): Promise<Revision> => number((await redis.hget(META_KEY, 'compact')) ?? '0');

/** What cannot be read is no less damaged. */
function damageSince(redis: Redis, compacted: Revision): Promise<string | undefined> {
  return findDamage(redis, compacted).catch((error: unknown) => {
    if (error instanceof InvariantViolation)
      throw new DamagedValue(`the data of the server are damaged: ${error.message}`);
    throw error;
  });
}

async function findDamage(redis: Redis, compacted: Revision): Promise<string | undefined> {
  const newest = new Map<StoreKey, Newest>();
  let at = compacted;
  const readUpTo = async (upTo: Revision): Promise<void> => {
    while (at < upTo) {
      const entries = await redis.xrange(HISTORY_KEY, `(${at}-0`, `${upTo}-0`, 'COUNT', FEED_BATCH_CHANGES);
      for (const entry of entries) {
        const { key, kind, revision } = decodeEntry(...entry).change;
        newest.set(key, { revision, isDeleted: kind === 'deleted' });
        at = revision;
      }
      if (entries.length === 0) at = upTo;
    }
  };
  await readUpTo(number((await redis.hget(META_KEY, 'rev')) ?? '0'));
  const keys = [...newest.keys()];
  for (let from = 0; from < keys.length; from += REDIS_GETS_TOGETHER) {
    const some = keys.slice(from, from + REDIS_GETS_TOGETHER);
    const call = { script: GET, keys: [META_KEY, ...some.map(objectHashKey)], arguments: [] };
    const { revision, objects } = decodeGet(some, await callScript(redis, call));
    await readUpTo(revision);
    const wrong = some.find((key, i) => !isAsTold(objects[i], newest.get(key)));
    const unlisted = wrong ?? (await unlistedOf(redis, objects));
    if (unlisted !== undefined) return `${unlisted} is not as the history says: the data of the server are damaged`;
  }
  return undefined;
}

/** An object that no index names, whoever deletes it meanwhile. */
async function unlistedOf(redis: Redis, objects: readonly (StoredObject | undefined)[]): Promise<StoreKey | undefined> {
  const isUnlisted = async (key: StoreKey): Promise<boolean> => {
    const { resource, member } = splitKey(key);
    return (await redis.zrangebylex(indexKey(resource), `[${member}`, `[${member}`)).length === 0;
  };
  const keys = objects.flatMap((object) => object?.key ?? []);
  const unlisted = await Promise.all(keys.map(isUnlisted));
  for (const key of keys.filter((_, i) => unlisted[i]))
    if ((await redis.exists(objectHashKey(key))) === 1 && (await isUnlisted(key))) return key;
  return undefined;
}

function isAsTold(object: StoredObject | undefined, told: Newest | undefined): boolean {
  if (told === undefined) return true;
  if (object === undefined) return told.isDeleted;
  return object.revision > told.revision || (!told.isDeleted && object.revision === told.revision);
}
