import { type Clock, describeError } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import { REDIS_RENEWAL_LOOK_MS, REDIS_RENEWAL_WAIT_MS } from '../limits.ts';
import { fieldsOf } from './settings.ts';

/** `scheduled`: behind another child process of the server. */
export type FileState = 'off' | 'asLoaded' | 'scheduled' | 'renewed';

/** What INFO says about the append-only file. Pure. */
export function fileState(info: string): FileState {
  const fields = fieldsOf(info);
  if (fields.get('aof_enabled') !== '1') return 'off';
  // It counts from the start of the server, and as soon as there is a new part.
  if (Number(fields.get('aof_rewrites')) > 0) return 'renewed';
  return fields.get('aof_rewrite_scheduled') === '1' ? 'scheduled' : 'asLoaded';
}

/**
 * Has the server begin a new part of its append-only file, unless it has since its start. A kill in the middle of a
 * transaction may leave an open MULTI at the end of the file, also behind what a start cuts off: a later start would take
 * everything behind it for a part of that transaction. A rewrite begins a new part before it does anything else, and no
 * transaction reaches into that. Resolves with the reason when it is impossible.
 */
export async function renewFile(redis: Redis, clock: Clock): Promise<string | undefined> {
  const until = clock.monotonic() + REDIS_RENEWAL_WAIT_MS;
  for (let isAsked = false; ; ) {
    const state = fileState(await redis.info('persistence'));
    if (state === 'off' || state === 'renewed') return undefined;
    if (clock.monotonic() >= until) return unrenewed('the server has not begun it');
    if (!isAsked) {
      const refusal = await askForRewrite(redis);
      if (refusal !== undefined) return unrenewed(refusal);
      isAsked = true;
    } else await clock.sleep(REDIS_RENEWAL_LOOK_MS);
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
  `the append-only file cannot be written anew (BGREWRITEAOF: ${why}): if a kill has torn its end, the next restart of the server loses what is written behind it`;
