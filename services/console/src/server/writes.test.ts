import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createVirtualClock } from '@holdfast/platform/testing';
import { WRITE_ANSWER_BYTES_MAX, WRITE_KEPT_MS, WRITES_OF_SESSION_MAX } from '../limits.ts';
import { json } from './answers.ts';
import { Writes } from './writes.ts';

const idOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** Writes that are answered when the test says so. */
function setUp() {
  const clock = createVirtualClock();
  const writes = new Writes(clock);
  const made: PromiseWithResolvers<ApiResponse>[] = [];
  const write = (session: string, number: number): Promise<ApiResponse> =>
    writes.once(session, idOf(number), () => {
      const answer = Promise.withResolvers<ApiResponse>();
      made.push(answer);
      return answer.promise;
    });
  return { clock, writes, made, write };
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
    await assert.rejects(writes.once('one', id, write), isRefused(400));
});
