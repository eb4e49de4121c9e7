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
  let writes = 0;
  const signedOut = (): void => {
    isSignedOut = true;
  };
  const api = createApi({
    fetch: noted,
    pause: async () => {},
    guard: () => 'guard',
    newId: () => `write-${++writes}`,
    signedOut,
  });
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

test('a request whose connection breaks is sent again for a while, a write with the same id', async () => {
  const ids: unknown[] = [];
  const broken = apiOf(async (_url, { headers }) => {
    ids.push(new Headers(headers).get('x-holdfast-write'));
    throw new TypeError('network changed');
  });
  await assert.rejects(broken.api.json('/a'), /network changed/);
  await assert.rejects(broken.api.json('/a', { method: 'PATCH', body: '{}' }), /network changed/);
  await assert.rejects(broken.api.text('/a', { method: 'DELETE' }), /network changed/);
  const times = <T>(value: T): T[] => Array.from({ length: 6 }, () => value);
  assert.deepEqual(
    broken.seen,
    ['GET', 'PATCH', 'DELETE'].flatMap((method) => times(`${method} /ui/cluster/a`)),
  );
  assert.deepEqual(ids, [...times(null), ...times('write-1'), ...times('write-2')]);
});

test('an answer that breaks off is asked for again, a refusal is not', async () => {
  const half = new ReadableStream({ start: (controller) => controller.error(new TypeError('network changed')) });
  const answers = [new Response(half), new Response('{"a":1}'), new Response('{}', { status: 409 })];
  const { api, seen } = apiOf(async () => answers.shift() ?? new Response('none left', { status: 500 }));
  assert.deepEqual(await api.json('/a', { method: 'POST' }), { a: 1 });
  await assert.rejects(
    api.json('/b', { method: 'POST' }),
    (error) => error instanceof ApiFailure && error.code === 409,
  );
  assert.deepEqual(seen, ['POST /ui/cluster/a', 'POST /ui/cluster/a', 'POST /ui/cluster/b']);
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
  const half = new ReadableStream({ start: (controller) => controller.error(new TypeError('network changed')) });
  const answers = [new Response(half, { status: 201 }), new Response('{"guard":"g"}', { status: 201 })];
  const torn: Fetch = async () => answers.shift() ?? new Response('none left', { status: 500 });
  assert.equal(await signIn(patientFetch(torn, pause), { code: 'c', attempt: 'a' }), 'g');
  assert.deepEqual(pauses.splice(0), [300]);
  assert.equal(await signIn(patientFetch(failing(2), pause), { code: 'c', attempt: 'a' }), 'g');
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
  assert.equal(await signIn(answer(201, '{"guard":"g"}'), { code: 'c', attempt: 'a' }), 'g');
  await assert.rejects(signIn(answer(401, '{"message":"too old"}'), { code: 'c', attempt: 'a' }), /too old/);
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
