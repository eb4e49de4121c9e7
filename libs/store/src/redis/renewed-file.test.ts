import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { Redis } from 'ioredis';
import { type FileState, fileState, renewFile } from './renewed-file.ts';

const ASKED = 'Background append only file rewriting started';

/** Fields of INFO, as Redis prints them. */
const info = (fields: Readonly<Record<string, number>> = {}): string =>
  Object.entries({ aof_enabled: 1, aof_rewrite_in_progress: 0, aof_rewrite_scheduled: 0, aof_rewrites: 0, ...fields })
    .map(([name, value]) => `${name}:${value}`)
    .join('\r\n');

const LOADED = info();
const SCHEDULED = info({ aof_rewrite_scheduled: 1 });
const RENEWED = info({ aof_rewrites: 1, aof_rewrite_in_progress: 1 });

const STATES: readonly (readonly [string, FileState])[] = [
  [info({ aof_enabled: 0 }), 'off'],
  [LOADED, 'asLoaded'],
  [SCHEDULED, 'scheduled'],
  [RENEWED, 'renewed'],
  [info({ aof_rewrites: 2, aof_rewrite_scheduled: 1 }), 'renewed'],
  ['', 'off'],
];

for (const [text, state] of STATES) {
  test(`an append-only file is ${state}: ${text.replaceAll('\r\n', ' ')}`, () => {
    assert.equal(fileState(text), state);
  });
}

/** A server whose INFO says one text after the other, and then the last one again. */
async function renew(texts: readonly string[], refusal?: Error) {
  const clock = createVirtualClock();
  const left = [...texts];
  let asked = 0;
  let isDone = false;
  const redis = {
    info: async () => (left.length > 1 ? left.shift() : left[0]) ?? '',
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
  renewing.catch(() => {});
  while (!isDone) await clock.advance(10);
  return { said: await renewing, asked };
}

const refusal = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

test('a server that has loaded its file begins a new part, and that is waited for', async () => {
  assert.deepEqual(await renew([LOADED, SCHEDULED, SCHEDULED, RENEWED]), { said: undefined, asked: 1 });
});

test('a file that has a new part, or that nobody keeps, is left alone', async () => {
  for (const text of [RENEWED, info({ aof_enabled: 0 })]) {
    assert.deepEqual(await renew([text]), { said: undefined, asked: 0 });
  }
});

test('a rewrite that another process asks for at the same time counts', async () => {
  const late = refusal('ERR Background append only file rewriting already in progress');
  assert.deepEqual(await renew([LOADED, RENEWED], late), { said: undefined, asked: 1 });
});

test('a server that does not begin is reported, and one that refuses, and a lost connection is an error', async () => {
  const { said: silent, asked } = await renew([LOADED, SCHEDULED]);
  assert.equal(asked, 1);
  assert.match(silent ?? '', /cannot be written anew \(BGREWRITEAOF: the server has not begun it\)/);
  const { said } = await renew([LOADED], refusal("NOPERM this user has no permissions to run 'bgrewriteaof'"));
  assert.match(said ?? '', /BGREWRITEAOF: .*NOPERM.*loses what is written behind it/);
  await assert.rejects(renew([LOADED], new Error('the connection was closed')), /closed/);
});
