import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { NatsConnection } from 'nats';
import { LOG_ASK_AGAIN_MS, LOG_IDLE_HEARTBEATS_MAX } from '../limits.ts';
import { LogTail } from './tail.ts';

/** A server that answers when the test says so. */
function makeTail(verify: () => Promise<void>) {
  const clock = createVirtualClock();
  const inboxes: { callback: (error: Error | null, msg: object) => void; isOver: boolean }[] = [];
  const answers: (() => void)[] = [];
  const connection = {
    isClosed: () => false,
    publish: () => undefined,
    subscribe: (_inbox: string, { callback }: { readonly callback: () => void }) => {
      const inbox = { callback, isOver: false };
      inboxes.push(inbox);
      return { unsubscribe: () => void (inbox.isOver = true) };
    },
    request: () => new Promise((resolve) => answers.push(() => resolve({ string: () => '{}' }))),
  };
  const taken: number[] = [];
  const log = { holds: 0 };
  const tail = new LogTail({
    clock,
    log: createSilentLog(),
    inboxPrefix: '_INBOX_test',
    stream: 'S',
    position: () => taken.length,
    storedUpTo: () => log.holds,
    verify,
    onMessage: (sequence) => void taken.push(sequence),
    onGap: () => undefined,
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tail uses nothing else of it
  void tail.establish(connection as unknown as NatsConnection);
  return { clock, tail, inboxes, answers, taken, log };
}

const message = (sequence: number, consumerSequence = sequence) => ({
  reply: `$JS.ACK.S.C.1.${sequence}.${consumerSequence}.0.0`,
  data: Buffer.from('entry'),
});

const heartbeat = (sent: number, stalled = '') => ({
  headers: {
    code: 100,
    get: (name: string) =>
      name === 'Nats-Last-Consumer' ? String(sent) : name === 'Nats-Consumer-Stalled' ? stalled : '',
  },
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

test('a consumer that lives and delivers nothing of what the log holds is replaced', async () => {
  const { clock, tail, inboxes, taken, log } = makeTail(async () => undefined);
  await clock.advance(0);
  const [first] = inboxes;
  const beat = (times: number): void => {
    for (let i = 0; i < times; i++) first?.callback(null, heartbeat(taken.length));
  };
  first?.callback(null, message(1));
  beat(2 * LOG_IDLE_HEARTBEATS_MAX);
  assert.equal(first?.isOver, false, 'the log holds no more');
  log.holds = 3;
  beat(LOG_IDLE_HEARTBEATS_MAX - 1);
  first?.callback(null, message(2));
  beat(LOG_IDLE_HEARTBEATS_MAX - 1);
  assert.equal(first?.isOver, false, 'it lags, and delivers');
  beat(1);
  assert.equal(first?.isOver, true);
  await clock.advance(0);
  inboxes[1]?.callback(null, heartbeat(0));
  assert.equal(inboxes[1]?.isOver, false, 'the next one has its own time');
  inboxes[1]?.callback(null, message(3, 1));
  first?.callback(null, message(3));
  assert.deepEqual(taken, [1, 2, 3], 'the next consumer begins behind the last message that was taken');
  tail.abandon();
});

test('a consumer that waits for this process is not replaced, however much the log holds', async () => {
  const { clock, tail, inboxes, log } = makeTail(async () => undefined);
  await clock.advance(0);
  log.holds = 9;
  for (let i = 0; i < 2 * LOG_IDLE_HEARTBEATS_MAX; i++) inboxes[0]?.callback(null, heartbeat(0, 'flow'));
  assert.equal(inboxes[0]?.isOver, false);
  tail.abandon();
});
