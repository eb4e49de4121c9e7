import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createVirtualClock } from '@holdfast/platform/testing';
import { WRITE_ANSWER_BYTES_MAX, WRITE_DEADLINE_MS, WRITE_KEPT_MS, WRITES_OF_SESSION_MAX } from '../limits.ts';
import { json } from './answers.ts';
import { Writes } from './writes.ts';

const idOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** Writes that are answered when the test says so. */
function setUp() {
  const clock = createVirtualClock();
  const writes = new Writes(clock);
  const made: PromiseWithResolvers<ApiResponse>[] = [];
  const signals: AbortSignal[] = [];
  const over = new Set<string>();
  const write = (session: string, number: number): Promise<ApiResponse> =>
    writes.once({ session, isOpen: () => !over.has(session) }, idOf(number), (signal) => {
      const answer = Promise.withResolvers<ApiResponse>();
      made.push(answer);
      signals.push(signal);
      return answer.promise;
    });
  return { clock, writes, made, signals, over, write };
}

const isRefused = (code: number) => (error: unknown) => error instanceof StatusError && error.body.code === code;
const valueOf = ({ body }: ApiResponse): unknown => (body.kind === 'json' ? body.value() : undefined);

test('a repeated write is made once, and gets the answer of the first time, before and after it is there', async () => {
  const { made, write } = setUp();
  const both = [write('one', 1), write('one', 1)];
  made[0]?.resolve(json(201, { name: 'a' }));
  const answers = [...(await Promise.all(both)), await write('one', 1)];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201],
  );
  assert.deepEqual(answers.map(valueOf), [{ name: 'a' }, { name: 'a' }, { name: 'a' }]);
  assert.equal(made.length, 1);
});

test('a failure is the answer to repetitions, too', async () => {
  const { made, write } = setUp();
  const first = write('one', 1);
  made[0]?.reject(new Error('unreachable'));
  await assert.rejects(first, /unreachable/);
  await assert.rejects(write('one', 1), /unreachable/);
  assert.equal(made.length, 1);
});

test('an id counts for its session alone, and no longer than it is kept', async () => {
  const { clock, made, write } = setUp();
  const first = write('one', 1);
  void write('two', 1);
  assert.equal(made.length, 2);
  await clock.advance(2 * WRITE_KEPT_MS);
  void write('one', 1);
  assert.equal(made.length, 2, 'a write under way is kept');
  made[0]?.resolve(json(200, {}));
  await first;
  await clock.advance(WRITE_KEPT_MS);
  void write('one', 1);
  assert.equal(made.length, 3);
});

/** Says nothing, and does not end. */
const endless = (): ApiResponse => ({
  status: 200,
  headers: {},
  body: { kind: 'stream', chunks: { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) } },
});

test('a write without a whole answer ends at its deadline, and then makes room', async () => {
  const { clock, made, signals, write } = setUp();
  const both = [write('one', 1), write('one', 2)];
  const refused = both.map((each) => assert.rejects(each, isRefused(504)));
  made[0]?.resolve(endless());
  await clock.advance(WRITE_DEADLINE_MS - 1);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, false],
  );
  await clock.advance(1);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true],
  );
  await Promise.all(refused);
  await assert.rejects(write('one', 1), isRefused(504), 'repetitions are told the same');
  await clock.advance(WRITE_KEPT_MS);
  void write('one', 1);
  assert.equal(made.length, 3);
});

test('the writes under way of a session that has ended end at the next write', async () => {
  const { signals, over, write } = setUp();
  const refused = assert.rejects(write('one', 1), isRefused(504));
  void write('two', 1);
  over.add('one');
  void write('two', 2);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false, false],
  );
  await refused;
});

test('the oldest answer of a session makes room, a write under way does not', async () => {
  const { made, write } = setUp();
  for (let number = 1; number <= WRITES_OF_SESSION_MAX; number++) void write('one', number);
  await assert.rejects(write('one', 100), isRefused(429));
  void write('two', 1);
  made[1]?.resolve(json(200, {}));
  await write('one', 2);
  void write('one', 100);
  const before = made.length;
  void write('one', 1);
  assert.equal(made.length, before, 'its write is under way');
  await assert.rejects(write('one', 2), isRefused(429), 'its answer made room');
});

test('a long answer is passed on once, and not kept', async () => {
  const { made, write } = setUp();
  const first = write('one', 1);
  made[0]?.resolve(json(200, 'x'.repeat(WRITE_ANSWER_BYTES_MAX)));
  assert.equal((await first).status, 200);
  await assert.rejects(write('one', 1), isRefused(504));
  assert.equal(made.length, 1);
});

test('an id that is none is refused', async () => {
  const { writes } = setUp();
  const write = async () => json(200, {});
  for (const id of ['', 'x', 'A'.repeat(36), '0'.repeat(65)])
    await assert.rejects(writes.once({ session: 'one', isOpen: () => true }, id, write), isRefused(400));
});
