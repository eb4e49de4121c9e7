import { type Clock, describeError } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import { REDIS_REWRITE_LOOK_MS } from '../limits.ts';
import { fieldsOf } from './settings.ts';

/** What INFO says about the append-only file. */
export type FileState = 'off' | 'asLoaded' | 'beingWritten' | 'renewed' | 'failed';

/** Pure. */
export function fileState(info: string): FileState {
  const fields = fieldsOf(info);
  if (fields.get('aof_enabled') !== '1') return 'off';
  if (fields.get('aof_rewrite_in_progress') === '1' || fields.get('aof_rewrite_scheduled') === '1')
    return 'beingWritten';
  if (fields.get('aof_last_rewrite_time_sec') === '-1') return 'asLoaded';
  return fields.get('aof_last_bgrewrite_status') === 'ok' ? 'renewed' : 'failed';
}

/**
 * Has the server write its append-only file anew, unless it has since its start. A kill in the middle of a transaction may
 * leave an open MULTI at the end of the file, also behind what a start cuts off: the next start but one would take
 * everything behind it for a part of that transaction. So nothing is acknowledged until it is in a new file. Resolves with
 * the reason when that is impossible.
 */
export async function renewFile(redis: Redis, clock: Clock): Promise<string | undefined> {
  for (let isAsked = false; ; ) {
    const state = fileState(await redis.info('persistence'));
    if (state === 'off' || state === 'renewed') return undefined;
    if (state === 'beingWritten') {
      await clock.sleep(REDIS_REWRITE_LOOK_MS);
      continue;
    }
    if (isAsked) return unrenewed('the rewrite failed; the log of the server has the reason');
    const refusal = await askForRewrite(redis);
    if (refusal !== undefined) return unrenewed(refusal);
    isAsked = true;
  }
}

async function askForRewrite(redis: Redis): Promise<string | undefined> {
  try {
    await redis.bgrewriteaof();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ReplyError')) throw error;
    // Another process has asked meanwhile.
    return /already in progress/.test(error.message) ? undefined : describeError(error);
  }
}

const unrenewed = (why: string): string =>
  `the append-only file cannot be written anew (BGREWRITEAOF: ${why}): if a kill has torn its end, the next restart loses what is written behind it`;
