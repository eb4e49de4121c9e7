import type { Redis } from 'ioredis';
import { REDIS_TRIM_CALLS } from '../limits.ts';
import type { Revision } from '../port.ts';
import { callScript } from './call.ts';
import { HISTORY_KEY, LAYOUT_FORMAT, META_KEY } from './layout.ts';
import { decodeInspection, type Inspection } from './replies.ts';
import { INSPECT } from './scripts.ts';
import { SETTING_NAMES } from './settings.ts';

/** What the server says of the whole store. An empty server becomes a store when it is given an incarnation. */
export async function inspect(redis: Redis, newIncarnation: string): Promise<Inspection> {
  const call = { script: INSPECT, keys: [META_KEY, HISTORY_KEY], arguments: [newIncarnation, LAYOUT_FORMAT] };
  return decodeInspection(await callScript(redis, call));
}

export async function readSettings(redis: Redis): Promise<Map<string, string>> {
  const answers = await Promise.all(SETTING_NAMES.map((name) => readSetting(redis, name)));
  return new Map(answers.flat());
}

/** Nothing when the server does not tell: a setting that cannot be read counts as wrong. */
async function readSetting(redis: Redis, name: string): Promise<[string, string][]> {
  try {
    const answer: unknown = await redis.config('GET', name);
    return Array.isArray(answer) && answer.length >= 2 ? [[name, String(answer[1])]] : [];
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown)/.test(error.message)) return [];
    throw error;
  }
}

/** Removes entries up to the mark, which must have been set before. */
export async function trimHistory(redis: Redis, compacted: Revision): Promise<void> {
  for (let call = 0; call < REDIS_TRIM_CALLS; call++) {
    const removed = await redis.xtrim(HISTORY_KEY, 'MINID', '~', `${compacted + 1}-0`);
    if (removed === 0) return;
  }
}
