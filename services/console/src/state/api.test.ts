import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiFailure, createApi, type Fetch, patientFetch, signIn } from './api.ts';

function apiOf(fetch: Fetch) {
  const seen: string[] = [];
  const noted: Fetch = (url, init) => {
    seen.push(`${init.method} ${url}`);
    return fetch(url, init);
  };
  let isSignedOut = false;
  const signedOut = (): void => {
    isSignedOut = true;
  };
  const api = createApi({ fetch: noted, pause: async () => {}, guard: () => 'guard', signedOut });
  return { api, seen, isSignedOut: () => isSignedOut };
}

const answer = (status: number, body: string) => async () => new Response(body, { status });

test('requests go below /ui/cluster with the guard, and refusals have the words of the server', async () => {
  const headers: unknown[] = [];
  const { api, seen } = apiOf(async (_url, init) => {
    headers.push(init.headers);
    return new Response('{"message":"pods is forbidden"}', { status: 403 });
  });
  await assert.rejects(
    api.json('/api/v1/pods', { query: { limit: '1' } }),
    (error) => error instanceof ApiFailure && error.isFinal && error.message === 'pods is forbidden',
  );
  assert.deepEqual(seen, ['GET /ui/cluster/api/v1/pods?limit=1']);
  assert.deepEqual(headers, [{ accept: 'application/json', 'x-holdfast-console': 'guard' }]);
});

test('what may be repeated is sent again twice when its connection breaks, a write never', async () => {
  const broken = apiOf(async () => {
    throw new TypeError('network changed');
  });
  await assert.rejects(broken.api.json('/a'), /network changed/);
  await assert.rejects(broken.api.json('/a', { method: 'PATCH', body: '{}' }), /network changed/);
  await assert.rejects(broken.api.json('/r', { method: 'POST', body: '{}', isRepeatable: true }), /network changed/);
  const [read, write, review] = ['GET /ui/cluster/a', 'PATCH /ui/cluster/a', 'POST /ui/cluster/r'];
  assert.deepEqual(broken.seen, [read, read, read, write, review, review, review]);
});

test('a sign-in survives a network that changes, and a caller who left is not served again', async () => {
  const pauses: number[] = [];
  const pause = async (ms: number) => void pauses.push(ms);
  const failing = (times: number): Fetch => {
    let left = times;
    return async () => {
      left -= 1;
      if (left >= 0) throw new TypeError('network changed');
      return new Response('{"guard":"g"}', { status: 201 });
    };
  };
  assert.equal(await signIn(patientFetch(failing(2), pause), { code: 'c' }), 'g');
  assert.deepEqual(pauses, [300, 600]);
  await assert.rejects(patientFetch(failing(1), pause)('/a', { signal: AbortSignal.abort() }), /network changed/);
  assert.equal(pauses.length, 2);
});

test('a session that has ended leads to the way in', async () => {
  const { api, isSignedOut } = apiOf(answer(401, ''));
  await assert.rejects(api.text('/a'), /the server answered 401/);
  assert.equal(isSignedOut(), true);
});

test('a sign-in gives the guard, and says why it failed', async () => {
  assert.equal(await signIn(answer(201, '{"guard":"g"}'), { code: 'c' }), 'g');
  await assert.rejects(signIn(answer(401, '{"message":"too old"}'), { code: 'c' }), /too old/);
});

test('a stream of bytes is text, whatever the pieces split', async () => {
  const bytes = new TextEncoder().encode('a\u{1F600}b');
  const body = new ReadableStream({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const { api } = apiOf(async () => new Response(body));
  let text = '';
  for await (const piece of await api.stream('/log')) text += piece;
  assert.equal(text, 'a\u{1F600}b');
});
