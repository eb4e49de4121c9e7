import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { NatsConnection } from 'nats';
import { LOG_ASK_AGAIN_MS } from '../limits.ts';
import { LogTail } from './tail.ts';

/** A server that answers when the test says so. */
function makeTail(verify: () => Promise<void>) {
  const clock = createVirtualClock();
  const inboxes: { callback: (error: Error | null, msg: object) => void; isOver: boolean }[] = [];
  const answers: (() => void)[] = [];
  const connection = {
    isClosed: () => false,
    subscribe: (_inbox: string, { callback }: { readonly callback: () => void }) => {
      const inbox = { callback, isOver: false };
      inboxes.push(inbox);
      return { unsubscribe: () => void (inbox.isOver = true) };
    },
    request: () => new Promise((resolve) => answers.push(() => resolve({ string: () => '{}' }))),
  };
  const taken: number[] = [];
  const tail = new LogTail({
    clock,
    log: createSilentLog(),
    inboxPrefix: '_INBOX_test',
    stream: 'S',
    position: () => taken.length,
    verify,
    onMessage: (sequence) => void taken.push(sequence),
    onGap: () => undefined,
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tail uses nothing else of it
  void tail.establish(connection as unknown as NatsConnection);
  return { clock, tail, inboxes, answers, taken };
}

const message = (sequence: number) => ({
  reply: `$JS.ACK.S.C.1.${sequence}.${sequence}.0.0`,
  data: Buffer.from('entry'),
});

test('what the log was asked while it had no leader is asked again soon, and a late answer to it still counts', async () => {
  const questions: (() => void)[] = [];
  const { clock, tail, inboxes } = makeTail(() => new Promise((resolve) => questions.push(resolve)));
  await clock.advance(3 * LOG_ASK_AGAIN_MS);
  assert.equal(questions.length, 4);
  assert.equal(inboxes.length, 0);
  questions[0]?.();
  await clock.advance(0);
  assert.equal(inboxes.length, 1, 'a consumer is asked for');
  await clock.advance(0);
  assert.equal(questions.length, 4, 'nobody asks any more');
  tail.abandon();
});

test('a consumer that is created and says nothing does not count as heard, one that speaks does', async () => {
  const { clock, tail, inboxes, answers } = makeTail(async () => undefined);
  await clock.advance(0);
  answers[0]?.();
  await clock.advance(1_000);
  assert.equal(tail.silentForMs, 1_000);
  inboxes[0]?.callback(null, message(1));
  assert.equal(tail.silentForMs, 0);
  await clock.advance(200);
  inboxes[0]?.callback(new Error('no permission'), message(2));
  assert.equal(tail.silentForMs, 200, 'an inbox that fails says nothing');
  tail.abandon();
  await clock.advance(700);
  assert.equal(tail.silentForMs, 900, 'also without a connection');
});

test('a consumer that does not begin is replaced soon; the one that is heard first is followed, and no other', async () => {
  const { clock, tail, inboxes, answers, taken } = makeTail(async () => undefined);
  await clock.advance(2 * LOG_ASK_AGAIN_MS);
  assert.equal(inboxes.length, 3);
  // The message comes before the answer to the question for its consumer.
  inboxes[1]?.callback(null, message(1));
  assert.deepEqual(taken, [1]);
  assert.deepEqual(
    inboxes.map(({ isOver }) => isOver),
    [true, false, true],
  );
  inboxes[0]?.callback(null, message(1));
  inboxes[1]?.callback(null, message(2));
  assert.deepEqual(taken, [1, 2]);
  await clock.advance(LOG_ASK_AGAIN_MS);
  assert.equal(inboxes.length, 3, 'no further one is asked for');
  for (const answer of answers) answer();
  await clock.advance(0);
  assert.notEqual(tail.heardAt, undefined);
  tail.abandon();
  assert.ok(inboxes.every(({ isOver }) => isOver));
});
