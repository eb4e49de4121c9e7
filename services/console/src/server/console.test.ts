import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ApiRequest, ApiResponse, HttpMethod } from '@holdfast/client';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import {
  ATTEMPT_LIFETIME_MS,
  BUNDLE_BYTES_MAX,
  CODE_LIFETIME_MS,
  CODES_MAX,
  SESSION_LIFETIME_MS,
  SESSIONS_MAX,
} from '../limits.ts';
import { buildBundle } from './bundle.ts';
import { createConsoleHandler } from './console.ts';
import { Files } from './files.ts';
import { Sessions } from './sessions.ts';

const HOST = '127.0.0.1:6443';
const OWN = { host: HOST, 'x-holdfast-console': 'sign-in', 'sec-fetch-site': 'same-origin', origin: `https://${HOST}` };
const PODS = '/ui/cluster/api/v1/pods';

const USERS = new Map([
  ['Bearer good', 'admin'],
  ['Bearer other', 'robot'],
]);

/** The console before an API server that knows two tokens; it notes what it is asked. */
function setUp() {
  const clock = createVirtualClock();
  let secrets = 0;
  const sessions = new Sessions({ clock, secret: () => `secret-${++secrets}` });
  const asked: ApiRequest[] = [];
  const handle = async (request: ApiRequest): Promise<ApiResponse> => {
    asked.push(request);
    const username = USERS.get(request.headers['authorization'] ?? '');
    const isKnown = username !== undefined;
    const groups = [isKnown ? 'system:authenticated' : 'system:unauthenticated'];
    const value = { status: { userInfo: { username, groups } } };
    const body = { kind: 'json' as const, bytes: () => Buffer.from(JSON.stringify(value)), value: () => value };
    return { status: isKnown ? 201 : 401, headers: { 'content-type': 'application/json' }, body };
  };
  const files = new Files(async () => [{ name: 'index.html', bytes: Buffer.from('<!doctype html>') }]);
  const offers = { play: true };
  const answer = createConsoleHandler({ sessions, handle, log: createSilentLog(), files, offers });
  const call = (method: HttpMethod, path: string, headers: Record<string, string>, body?: unknown) =>
    answer({
      method,
      path,
      query: new URLSearchParams(),
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      connection: { remoteAddress: '127.0.0.1', clientCertificate: 'ab\nCN=somebody' },
    });
  const signIn = async (credential: object) => {
    const response = await call('POST', '/ui/session', OWN, credential);
    const { guard } = response.body.kind === 'json' ? (response.body.value() as { guard: string }) : { guard: '' };
    const cookie = (response.headers['set-cookie'] ?? '').split(';')[0] ?? '';
    return { response, headers: { ...OWN, 'x-holdfast-console': guard, cookie } };
  };
  return { clock, sessions, asked, call, signIn };
}

test('a code signs in once: its cookie is confined, and the session speaks as the user of the token', async () => {
  const { sessions, asked, call, signIn } = setUp();
  const code = sessions.issueCode('good', 'admin') ?? '';
  const { response, headers } = await signIn({ code });
  assert.equal(response.status, 201);
  assert.match(
    response.headers['set-cookie'] ?? '',
    /^holdfast-ui-6443=secret-2; Path=\/ui\/; HttpOnly; Secure; SameSite=Strict$/,
  );
  assert.equal((await call('GET', PODS, { ...headers, accept: 'application/json' })).status, 201);
  const last = asked.at(-1);
  assert.equal(last?.path, '/api/v1/pods');
  assert.deepEqual(last?.headers, {
    accept: 'application/json',
    'user-agent': 'holdfast-console',
    authorization: 'Bearer good',
  });
  assert.deepEqual(last?.connection, { remoteAddress: '127.0.0.1' }, "the browser's certificate is nobody here");
  assert.equal((await signIn({ code })).response.status, 401, 'a replayed code');
});

test('a code opens a session again for the same attempt, whose answer was lost, for a moment', async () => {
  const { clock, sessions, signIn } = setUp();
  const code = sessions.issueCode('good', 'admin') ?? '';
  const status = async (attempt?: string): Promise<number> =>
    (await signIn(attempt === undefined ? { code } : { code, attempt })).response.status;
  assert.equal(await status('mine'), 201);
  assert.deepEqual([await status('another'), await status()], [401, 401]);
  assert.equal(await status('mine'), 201);
  await clock.advance(ATTEMPT_LIFETIME_MS);
  assert.equal(await status('mine'), 401);
});

test('a code that is too old, unknown or of a token that ended opens nothing', async () => {
  const { clock, sessions, signIn } = setUp();
  const code = sessions.issueCode('good', 'admin') ?? '';
  await clock.advance(CODE_LIFETIME_MS);
  assert.equal((await signIn({ code })).response.status, 401);
  assert.equal((await signIn({ code: 'guessed' })).response.status, 401);
  assert.equal((await signIn({ code: sessions.issueCode('revoked', 'admin') })).response.status, 401);
  assert.equal((await signIn({ token: 'wrong' })).response.status, 401);
  assert.equal((await signIn({})).response.status, 401);
});

const CROSS_SITE: readonly (readonly [string, Record<string, string>])[] = [
  ['without the header', { 'x-holdfast-console': '' }],
  ['from another site', { 'sec-fetch-site': 'cross-site' }],
  ['from another port of this machine', { 'sec-fetch-site': 'same-site' }],
  ['by navigation', { 'sec-fetch-site': 'none' }],
  ['with another origin', { origin: 'https://127.0.0.1:9999' }],
];
for (const [how, change] of CROSS_SITE) {
  test(`requests ${how} are refused, with a session and for one`, async () => {
    const { asked, call, signIn } = setUp();
    const { headers } = await signIn({ token: 'good' });
    const before = asked.length;
    assert.equal((await call('DELETE', PODS, { ...headers, ...change })).status, 403);
    assert.equal((await call('POST', '/ui/session', { ...OWN, ...change }, { token: 'good' })).status, 403);
    assert.equal((await call('DELETE', '/ui/session', { ...headers, ...change })).status, 403);
    assert.equal(asked.length, before, 'the API server was asked nothing');
  });
}

test('neither the cookie nor the guard is enough alone', async () => {
  const { call, signIn } = setUp();
  const [one, two] = [await signIn({ token: 'good' }), await signIn({ token: 'good' })];
  const mixed = { ...one.headers, 'x-holdfast-console': two.headers['x-holdfast-console'] };
  assert.equal((await call('GET', PODS, mixed)).status, 401, 'a stolen cookie with a guard of its own');
  assert.equal((await call('GET', PODS, { ...one.headers, cookie: '' })).status, 401);
  assert.equal((await call('GET', PODS, { ...one.headers, cookie: `${one.headers.cookie}x` })).status, 401);
  assert.equal((await call('GET', PODS, one.headers)).status, 201);
});

test('a page learns what is here beside the API, in a session alone', async () => {
  const { call, signIn } = setUp();
  const { headers } = await signIn({ token: 'good' });
  const { body } = await call('GET', '/ui/session', headers);
  assert.deepEqual(body.kind === 'json' ? body.value() : undefined, { play: true });
  assert.equal((await call('GET', '/ui/session', { ...headers, 'x-holdfast-console': 'guess' })).status, 401);
  assert.equal((await call('GET', '/ui/session', { ...headers, cookie: '' })).status, 401);
});

test('a session ends when it is signed out, after its time, and when many newer ones came', async () => {
  const { clock, call, signIn } = setUp();
  const first = await signIn({ token: 'good' });
  assert.equal((await call('DELETE', '/ui/session', first.headers)).status, 204);
  assert.equal((await call('GET', PODS, first.headers)).status, 401);
  const second = await signIn({ token: 'good' });
  for (let i = 0; i < SESSIONS_MAX; i++) await signIn({ token: 'good' });
  assert.equal((await call('GET', PODS, second.headers)).status, 401);
  const third = await signIn({ token: 'good' });
  await clock.advance(SESSION_LIFETIME_MS);
  assert.equal((await call('GET', PODS, third.headers)).status, 401);
});

test('a link needs a token that the API server knows, and only so many wait', async () => {
  const { call } = setUp();
  assert.equal((await call('POST', '/ui/link', {})).status, 401);
  assert.equal((await call('POST', '/ui/link', { authorization: 'Bearer wrong' })).status, 401);
  const good = { authorization: 'Bearer good' };
  for (let i = 0; i < CODES_MAX; i++) assert.equal((await call('POST', '/ui/link', good)).status, 201);
  assert.equal((await call('POST', '/ui/link', good)).status, 429);
});

test('who asks for many links and sessions takes those of others from nobody', async () => {
  const { sessions, call, signIn } = setUp();
  const other = { authorization: 'Bearer other' };
  const link = sessions.issueCode('good', 'admin') ?? '';
  for (let i = 1; i < CODES_MAX; i++) assert.equal((await call('POST', '/ui/link', other)).status, 201);
  assert.equal((await call('POST', '/ui/link', other)).status, 429);
  assert.equal((await call('POST', '/ui/link', { authorization: 'Bearer good' })).status, 201);
  const { headers } = await signIn({ code: link });
  for (let i = 0; i < 2 * SESSIONS_MAX; i++) await signIn({ token: 'other' });
  assert.equal((await call('GET', PODS, headers)).status, 201);
});

test('a write that the page repeats reaches the API server once, for who has the session', async () => {
  const { asked, call, signIn } = setUp();
  const { headers } = await signIn({ token: 'good' });
  const write = { ...headers, 'x-holdfast-write': '0b5e3a52-7d0c-4f7e-9a0e-000000000001' };
  const before = asked.length;
  for (let i = 0; i < 3; i++) assert.equal((await call('DELETE', `${PODS}/a`, write)).status, 201);
  assert.equal(asked.length, before + 1);
  assert.equal(asked.at(-1)?.signal?.aborted, false, 'its deadline alone ends it');
  assert.equal((await call('DELETE', `${PODS}/a`, { ...write, 'x-holdfast-console': 'guess' })).status, 401);
  assert.equal((await call('DELETE', `${PODS}/a`, { ...write, 'sec-fetch-site': 'cross-site' })).status, 403);
});

test('a request that may have no end is not kept as a write', async () => {
  const { asked, call, signIn } = setUp();
  const { headers } = await signIn({ token: 'good' });
  const write = { ...headers, 'x-holdfast-write': '0b5e3a52-7d0c-4f7e-9a0e-000000000001' };
  const before = asked.length;
  for (const method of ['GET', 'HEAD', 'OPTIONS'] as const) {
    assert.equal((await call(method, `${PODS}?watch=1`, write)).status, 400, method);
  }
  assert.equal(asked.length, before);
});

test('pages behind the proxy of the API and upgrades are not served: they would run in this origin', async () => {
  const { asked, call, signIn } = setUp();
  const { headers } = await signIn({ token: 'good' });
  const before = asked.length;
  const pages = ['namespaces/a/pods/b/proxy', 'namespaces/a/services/b/proxy/x.html', 'nodes/c/proxy/logs/'];
  for (const path of pages.map((each) => `/api/v1/${each}`)) {
    assert.equal((await call('GET', `/ui/cluster${path}`, headers)).status, 403);
  }
  assert.equal((await call('GET', PODS, { ...headers, upgrade: 'websocket' })).status, 403);
  assert.equal(asked.length, before);
  assert.equal((await call('GET', '/ui/cluster/api/v1/namespaces/a/pods/proxy', headers)).status, 201, 'a pod');
});

test('the page has a strict policy, answers of the API are sandboxed, and unknown files are not found', async () => {
  const { call, signIn } = setUp();
  const page = await call('GET', '/ui/', { host: HOST });
  const policy = page.headers['content-security-policy'] ?? '';
  assert.match(policy, /default-src 'none'; script-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|\*/);
  assert.equal((await call('GET', '/ui', {})).headers['location'], '/ui/');
  assert.equal((await call('GET', '/ui/assets/../index.html', {})).status, 404);
  assert.equal((await call('POST', '/ui/', {})).status, 405);
  const known = page.headers['etag'] ?? '';
  assert.equal((await call('GET', '/ui/', { 'if-none-match': known })).status, 304);
  const { headers } = await signIn({ token: 'good' });
  assert.match((await call('GET', PODS, headers)).headers['content-security-policy'] ?? '', /sandbox/);
});

test('the console is small, complete and has nothing inline', async () => {
  const files = await buildBundle();
  const bytes = files.reduce((sum, file) => sum + gzipSync(file.bytes).length, 0);
  assert.ok(bytes < BUNDLE_BYTES_MAX, `${bytes} bytes compressed`);
  const page = Buffer.from(files.find(({ name }) => name === 'index.html')?.bytes ?? []).toString();
  const named = Array.from(page.matchAll(/assets\/([\w.-]+)/g), ([, name]) => name);
  assert.deepEqual(new Set(named), new Set(files.map(({ name }) => name).filter((name) => name !== 'index.html')));
  assert.doesNotMatch(page, /<script(?![^>]*src=)|<style|\son\w+=|https?:/);
  const script = Buffer.from(files.find(({ name }) => name.endsWith('.js'))?.bytes ?? []).toString();
  assert.doesNotMatch(script, /\beval\(|new Function\(/);
});
