import type { Redis } from 'ioredis';
import { ADOPTION_JUMP, REDIS_TRIM_CALLS, REDIS_WITNESSED_CHANGES } from '../limits.ts';
import type { Revision } from '../port.ts';
import { callScript } from './call.ts';
import { HISTORY_KEY, LAYOUT_FORMAT, META_KEY, OBJECT_KEY_PREFIX } from './layout.ts';
import { decodeInspection, decodeSightings, type Inspection, number, texts } from './replies.ts';
import { ADOPT, COMPARE, COUNT, INSPECT, NEWEST } from './scripts.ts';
import { SETTING_NAMES } from './settings.ts';
import type { Sighting } from './witness.ts';

/** Reads the server's report about the whole store. With an incarnation, an empty server becomes a store. */
export async function inspect(redis: Redis, newIncarnation: string): Promise<Inspection> {
  const call = { script: INSPECT, keys: [META_KEY, HISTORY_KEY], arguments: [newIncarnation, LAYOUT_FORMAT] };
  return decodeInspection(await callScript(redis, call));
}

const STORE_KEYS = [META_KEY, HISTORY_KEY] as const;

/** Reads the newest entries of the server's history. */
export async function newestSightings(redis: Redis): Promise<readonly Sighting[]> {
  const reply = await callScript(redis, { script: NEWEST, keys: STORE_KEYS, arguments: [REDIS_WITNESSED_CHANGES] });
  return decodeSightings(reply);
}

/**
 * Returns where the server's history differs from what this process has seen; `undefined` when it agrees as far as it
 * can be compared.
 */
export async function difference(
  redis: Redis,
  seen: readonly Sighting[],
): Promise<{ readonly revision: Revision; readonly found: string } | undefined> {
  if (seen.length === 0) return undefined;
  const parameters = seen.flatMap(({ revision, writeId }) => [revision, writeId]);
  const [revision, found = ''] = texts(
    await callScript(redis, { script: COMPARE, keys: STORE_KEYS, arguments: parameters }),
  );
  return revision === undefined ? undefined : { revision: number(revision), found };
}

/** Begins the next epoch with the current data; `undefined` when the server holds no store. */
export async function adopt(
  redis: Redis,
): Promise<{ readonly revision: Revision; readonly epoch: number } | undefined> {
  const reply = await callScript(redis, { script: ADOPT, keys: STORE_KEYS, arguments: [ADOPTION_JUMP] });
  const [kind, revision, epoch] = texts(reply);
  return kind === 'adopted' ? { revision: number(revision), epoch: number(epoch) } : undefined;
}

/** Counts a store of an earlier version once. After that every write keeps the count. */
export async function countOnce(redis: Redis): Promise<void> {
  await callScript(redis, { script: COUNT, keys: [META_KEY, HISTORY_KEY], arguments: [OBJECT_KEY_PREFIX] });
}

export async function readSettings(redis: Redis): Promise<Map<string, string>> {
  const answers = await Promise.all(SETTING_NAMES.map((name) => readSetting(redis, name)));
  return new Map(answers.flat());
}

/** Returns nothing when the server does not reveal the setting. An unreadable setting counts as wrong. */
async function readSetting(redis: Redis, name: string): Promise<[string, string][]> {
  try {
    const answer: unknown = await redis.config('GET', name);
    return Array.isArray(answer) && answer.length >= 2 ? [[name, String(answer[1])]] : [];
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown)/.test(error.message)) return [];
    throw error;
  }
}

/** Removes entries up to the compaction mark, which must be set before. */
export async function trimHistory(redis: Redis, compacted: Revision): Promise<void> {
  for (let call = 0; call < REDIS_TRIM_CALLS; call++) {
    const removed = await redis.xtrim(HISTORY_KEY, 'MINID', '~', `${compacted + 1}-0`);
    if (removed === 0) return;
  }
}
