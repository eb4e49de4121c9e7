import assert from 'node:assert/strict';
import test from 'node:test';
import { nextTurn } from '@holdfast/platform';
import { Redis } from 'ioredis';
import { leaveNow, withPacket } from './call.ts';

/** A connection that records what happens to its stream. */
function recorded() {
  const happened: string[] = [];
  const redis = new Redis({ lazyConnect: true });
  const stream = { cork: () => happened.push('cork'), uncork: () => happened.push('uncork') };
  Object.defineProperty(redis, 'stream', { value: stream });
  const say = (what: string) => async (): Promise<string> => {
    happened.push(what);
    return what;
  };
  return { redis, happened, say };
}

test('calls of one turn of the event loop are sent at its end, in one packet', async () => {
  const { redis, happened, say } = recorded();
  const answers = [withPacket(redis, say('a')), withPacket(redis, say('b'))];
  assert.deepEqual(happened, ['cork']);
  await nextTurn();
  assert.deepEqual(happened, ['cork', 'a', 'b', 'uncork']);
  assert.deepEqual(await Promise.all(answers), ['a', 'b']);
});

test('an urgent call flushes the queued calls, and the turn continues with a new packet', async () => {
  const { redis, happened, say } = recorded();
  void withPacket(redis, say('a'));
  leaveNow(redis);
  assert.deepEqual(happened, ['cork', 'a', 'uncork']);
  void withPacket(redis, say('b'));
  assert.deepEqual(happened.slice(3), ['cork']);
  await nextTurn();
  assert.deepEqual(happened.slice(3), ['cork', 'b', 'uncork']);
  leaveNow(redis);
  await nextTurn();
  assert.equal(happened.length, 6, 'nothing is left over');
});
