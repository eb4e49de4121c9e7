import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { Redis } from 'ioredis';
import { type FileState, fileState, renewFile } from './renewed-file.ts';

const ASKED = 'Background append only file rewriting started';

/** Fields of INFO, as Redis prints them. */
const info = (fields: Readonly<Record<string, string | number>> = {}): string =>
  Object.entries({
    aof_enabled: 1,
    aof_rewrite_in_progress: 0,
    aof_rewrite_scheduled: 0,
    aof_last_rewrite_time_sec: -1,
    aof_last_bgrewrite_status: 'ok',
    ...fields,
  })
    .map(([name, value]) => `${name}:${value}`)
    .join('\r\n');

const LOADED = info();
const UNDER_WAY = info({ aof_rewrite_in_progress: 1 });
const RENEWED = info({ aof_last_rewrite_time_sec: 0 });
const FAILED = info({ aof_last_rewrite_time_sec: 0, aof_last_bgrewrite_status: 'err' });

const STATES: readonly (readonly [string, FileState])[] = [
  [info({ aof_enabled: 0 }), 'off'],
  [LOADED, 'asLoaded'],
  [UNDER_WAY, 'beingWritten'],
  [info({ aof_rewrite_scheduled: 1 }), 'beingWritten'],
  [RENEWED, 'renewed'],
  [FAILED, 'failed'],
];

for (const [text, state] of STATES) {
  test(`an append-only file is ${state}: ${text.replaceAll('\r\n', ' ')}`, () => {
    assert.equal(fileState(text), state);
  });
}

/** A server whose INFO says one text after the other. */
async function renew(texts: readonly string[], refusal?: Error) {
  const clock = createVirtualClock();
  const left = [...texts];
  let asked = 0;
  const redis = {
    info: async () => left.shift() ?? RENEWED,
    bgrewriteaof: async () => {
      asked++;
      if (refusal !== undefined) throw refusal;
      return ASKED;
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it uses nothing else of it
  const renewing = renewFile(redis as unknown as Redis, clock).finally(() => {
    isDone = true;
  });
  let isDone = false;
  renewing.catch(() => {});
  while (!isDone) await clock.advance(10);
  return { said: await renewing, asked, left: left.length };
}

const refusal = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

test('a file that was loaded is written anew, and that is waited for', async () => {
  assert.deepEqual(await renew([LOADED, UNDER_WAY, UNDER_WAY, RENEWED]), { said: undefined, asked: 1, left: 0 });
});

test('a file that is new, or kept by nobody, is left alone', async () => {
  for (const text of [RENEWED, info({ aof_enabled: 0 })]) {
    assert.deepEqual(await renew([text]), { said: undefined, asked: 0, left: 0 });
  }
});

test('a rewrite that another process asked for is waited for', async () => {
  assert.deepEqual(await renew([UNDER_WAY, RENEWED]), { said: undefined, asked: 0, left: 0 });
  const late = refusal('ERR Background append only file rewriting already in progress');
  assert.deepEqual(await renew([LOADED, UNDER_WAY, RENEWED], late), { said: undefined, asked: 1, left: 0 });
});

test('a rewrite that fails again is reported', async () => {
  const { said, asked } = await renew([FAILED, UNDER_WAY, FAILED]);
  assert.equal(asked, 1);
  assert.match(said ?? '', /cannot be written anew \(BGREWRITEAOF: the rewrite failed/);
});

test('a server that refuses a rewrite is reported, and a lost connection is an error', async () => {
  const { said } = await renew([LOADED], refusal("NOPERM this user has no permissions to run 'bgrewriteaof'"));
  assert.match(said ?? '', /BGREWRITEAOF: .*NOPERM.*the next restart loses what is written behind it/);
  await assert.rejects(renew([LOADED], new Error('the connection was closed')), /closed/);
});
