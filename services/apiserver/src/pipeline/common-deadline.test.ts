import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { createVirtualClock } from '@holdfast/platform/testing';
import { requestOf } from '../testing/fixture.ts';
import { CommonDeadline } from './common-deadline.ts';

const AFTER_MS = 1_000;
const OK: ApiResponse = { status: 200, headers: {}, body: { kind: 'empty' } };

/** A deadline whose requests are answered when the test says so. */
function start() {
  const clock = createVirtualClock();
  const deadline = new CommonDeadline(clock, AFTER_MS);
  const ask = (request: ApiRequest = requestOf('GET', '/', {})) => {
    const work = Promise.withResolvers<ApiResponse>();
    let seen = request;
    const answered = deadline.answer(request, (bounded) => {
      seen = bounded;
      return work.promise;
    });
    const end = answered.then(
      ({ status }) => status,
      ({ code }: { code: number }) => code,
    );
    return { end, bounded: seen, answer: work.resolve, fail: work.reject };
  };
  return { clock, deadline, ask };
}

test('each request has the whole time from its own begin', async () => {
  const { clock, ask } = start();
  const first = ask();
  await clock.advance(400);
  const second = ask();
  const third = ask();
  await clock.advance(599);
  second.answer(OK);
  assert.equal(await second.end, 200);
  await clock.advance(1);
  assert.equal(await first.end, 504);
  await clock.advance(399);
  third.answer(OK);
  assert.equal(await third.end, 200);
});

test('a failure in time is the answer, and the next request has a deadline again', async () => {
  const { clock, ask } = start();
  const failing = ask();
  failing.fail({ code: 409 });
  assert.equal(await failing.end, 409);
  await clock.advance(5 * AFTER_MS);
  const late = ask();
  await clock.advance(AFTER_MS);
  assert.equal(await late.end, 504);
});

test('for the work of a late request, its client has gone, whenever it looks', async () => {
  const { clock, ask } = start();
  const [watching, careless] = [ask(), ask()];
  const seen = watching.bounded.signal;
  assert.equal(seen?.aborted, false);
  await clock.advance(AFTER_MS);
  assert.equal(seen?.aborted, true);
  assert.equal(careless.bounded.signal?.aborted, true);
  assert.deepEqual([await watching.end, await careless.end], [504, 504]);
});

test('the work sees the request as it was asked, and the client that leaves', () => {
  const leaving = new AbortController();
  const asked: ApiRequest = { ...requestOf('POST', '/a', {}), body: 'b', signal: leaving.signal };
  const { bounded } = start().ask(asked);
  const { signal: _signal, isOver: _isOver, asked: origin, ...rest } = bounded;
  const { signal: _asked, ...sent } = asked;
  assert.deepEqual(rest, sent);
  assert.equal(origin, asked);
  assert.equal(bounded.signal?.aborted, false);
  leaving.abort();
  assert.equal(bounded.signal?.aborted, true);
});

test('a deadline that was stopped keeps no timer, and ends no request', async () => {
  const { clock, deadline, ask } = start();
  const before = ask();
  deadline.stop();
  const after = ask();
  assert.equal(clock.pendingTimers(), 0);
  await clock.advance(2 * AFTER_MS);
  for (const { answer } of [before, after]) answer(OK);
  assert.deepEqual([await before.end, await after.end], [200, 200]);
  const idle = start();
  idle.deadline.stop();
  idle.ask();
  assert.equal(idle.clock.pendingTimers(), 0);
});

test('an answer that comes too late lets go of what it holds', async () => {
  const { clock, ask } = start();
  const late = ask();
  await clock.advance(AFTER_MS);
  assert.equal(await late.end, 504);
  const returned = Promise.withResolvers<void>();
  const chunks: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => assert.fail('nobody reads it'),
      return: async () => {
        returned.resolve();
        return { done: true, value: undefined };
      },
    }),
  };
  late.answer({ ...OK, body: { kind: 'stream', chunks } });
  await returned.promise;
});
