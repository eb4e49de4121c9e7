import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiHandler, ApiRequest, WatchFrame } from '@holdfast/client';
import { createSeededRandom } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { withRealWatches } from './real-watches.ts';

/** Watches that last until their signal aborts. */
function makeWatches() {
  const clock = createVirtualClock(0);
  const seen: ApiRequest[] = [];
  const inner: ApiHandler = async (request) => {
    seen.push(request);
    return { status: 200, headers: {}, body: { kind: 'watch', frames: untilAborted(request.signal) } };
  };
  return { clock, seen, handle: withRealWatches(inner, { clock, random: createSeededRandom(1, 'watches') }) };
}

async function* untilAborted(signal: AbortSignal | undefined): AsyncGenerator<WatchFrame> {
  await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  yield* [];
}

const watching = (query: string, signal?: AbortSignal): ApiRequest => ({
  method: 'GET',
  path: '/api/v1/pods',
  query: new URLSearchParams(query),
  headers: {},
  ...(signal === undefined ? {} : { signal }),
});

/** Whether the watch has ended, at the times when it is asked. */
async function follow(handle: ApiHandler, request: ApiRequest) {
  const { body } = await handle(request);
  assert.equal(body.kind, 'watch');
  let hasEnded = false;
  const whole = (async () => {
    for await (const _ of body.frames);
    hasEnded = true;
  })();
  return { hasEnded: () => hasEnded, whole };
}

test('a watch ends after the seconds that its client named, on the clock of the machine', async () => {
  const { clock, seen, handle } = makeWatches();
  const { hasEnded, whole } = await follow(handle, watching('watch=true&timeoutSeconds=5'));
  assert.equal(seen[0]?.query.get('timeoutSeconds'), '2073600');
  await clock.advance(4_999);
  assert.equal(hasEnded(), false);
  await clock.advance(1);
  await whole;
  assert.equal(clock.pendingTimers(), 0);
});

test('without a time a watch ends within an hour, and sooner when its client leaves', async () => {
  const { clock, handle } = makeWatches();
  const { hasEnded, whole } = await follow(handle, watching('watch=1'));
  const leaving = new AbortController();
  const left = await follow(handle, watching('watch=1', leaving.signal));
  leaving.abort();
  await left.whole;
  assert.equal(clock.pendingTimers(), 1);
  await clock.advance(30 * 60_000 - 1);
  assert.equal(hasEnded(), false);
  await clock.advance(30 * 60_000);
  await whole;
});

test('what is no watch, or a wrong one, passes as it is', async () => {
  const { clock, seen, handle } = makeWatches();
  for (const query of ['', 'watch=true&timeoutSeconds=soon', 'timeoutSeconds=5']) {
    const request = watching(query);
    await handle(request);
    assert.equal(seen.at(-1), request);
  }
  assert.equal(clock.pendingTimers(), 0);
});
