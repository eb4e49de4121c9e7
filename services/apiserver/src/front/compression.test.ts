import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { ApiResponse, ResponseBody } from '@holdfast/client';
import { createSeededRandom } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { whole } from '../http/pieces.ts';
import { ACCEPT_CLAUSES_MAX, COMPRESSED_OVER_BYTES } from '../limits.ts';
import { configMapBody, startTestApi } from '../testing/fixture.ts';
import { host, serve, tls } from '../testing/https.ts';
import { takesGzip } from './compression.ts';

interface Reply {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

async function http1(port: number, path: string, accepted: string, method = 'GET'): Promise<Reply> {
  const headers = { authorization: 'Bearer admin', 'accept-encoding': accepted };
  const request = httpsRequest({ host, port, path, method, ca: tls.certificate, agent: false, headers }).end();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return { headers: answer.headers, bytes: await buffer(answer) };
}

function connect(t: TestContext, port: number, initialWindowSize = 65_535): ClientHttp2Session {
  const session = connectHttp2(`https://${host}:${port}`, { ca: tls.certificate, settings: { initialWindowSize } });
  t.after(() => session.destroy());
  return session;
}

async function http2(t: TestContext, port: number, path: string, accepted: string): Promise<Reply> {
  const headers = { ':path': path, authorization: 'Bearer admin', 'accept-encoding': accepted };
  const stream = connect(t, port).request(headers);
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  return { headers: answer, bytes: await buffer(stream) };
}

const LONG = Buffer.from(JSON.stringify(Array.from({ length: 40_000 }, (_, i) => i)));
const AT_LIMIT = LONG.subarray(0, COMPRESSED_OVER_BYTES);

const document = (bytes: Buffer, headers: ApiResponse['headers'] = {}): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...headers },
  body: { kind: 'json', bytes: () => bytes, value: () => undefined },
});

const streamed = (bytes: Buffer): ResponseBody => ({
  kind: 'stream',
  chunks: (async function* () {
    yield bytes;
  })(),
});

test('long answers are compressed for clients that accept gzip', async (t) => {
  const api = await startTestApi();
  t.after(() => api.stop());
  const maps = '/api/v1/namespaces/default/configmaps';
  for (const name of ['a', 'b', 'c']) {
    await api.call('POST', maps, { body: configMapBody(name, { k: name.repeat(100_000) }) });
  }
  const port = await serve(t, api.server.handle);
  const { bytes: plain, headers } = await http1(port, maps, 'identity');
  assert.deepEqual([headers['content-encoding'], headers['content-length']], [undefined, String(plain.length)]);
  // More than the spare pieces of the server: those that were sent have to come back.
  for (let round = 0; round < 20; round += 1) {
    for (const reply of [await http1(port, maps, 'deflate, gzip'), await http2(t, port, maps, 'gzip')]) {
      assert.equal(reply.headers['content-encoding'], 'gzip');
      assert.equal(reply.headers['vary'], 'Accept-Encoding');
      assert.equal(reply.headers['content-length'], undefined);
      assert.ok(reply.bytes.length < plain.length / 10);
      assert.ok(gunzipSync(reply.bytes).equals(plain));
    }
  }
});

test('short answers, answers without length and answers with a hash are not compressed', async (t) => {
  const answers: Readonly<Record<string, () => ApiResponse>> = {
    '/long': () => document(LONG),
    '/short': () => document(AT_LIMIT),
    '/kept': () => document(LONG, { etag: '"1"' }),
    '/stream': () => ({ status: 200, headers: {}, body: streamed(LONG) }),
  };
  const port = await serve(t, async ({ path }) => answers[path]?.() ?? document(LONG));
  const encodings: Record<string, unknown> = {};
  for (const path in answers) {
    const { headers, bytes } = await http1(port, path, 'gzip');
    encodings[path] = headers['content-encoding'];
    const sent = encodings[path] === 'gzip' ? gunzipSync(bytes) : bytes;
    assert.ok(sent.equals(path === '/short' ? AT_LIMIT : LONG), path);
  }
  assert.deepEqual(encodings, { '/long': 'gzip', '/short': undefined, '/kept': undefined, '/stream': undefined });
  const head = await http1(port, '/long', 'gzip', 'HEAD');
  assert.deepEqual([head.headers['content-encoding'], head.headers['content-length']], [undefined, `${LONG.length}`]);
});

test('only the exact name gzip is accepted', () => {
  assert.deepEqual(['gzip', 'deflate, gzip', 'gzip;q=1', '*', 'x-gzip', '', undefined].map(takesGzip), [
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  const late = (before: number): boolean => takesGzip(`${'br,'.repeat(before)}gzip`);
  assert.deepEqual([late(ACCEPT_CLAUSES_MAX - 1), late(ACCEPT_CLAUSES_MAX)], [true, false]);
});

test('an unread compressed answer is cut off, and holds at most one window', async (t) => {
  let taken = 0;
  const piece = createSeededRandom(1, 'incompressible').bytes(64 * 1024);
  const pieces = function* (): Generator<Uint8Array> {
    for (taken = 0; taken < 1_000; taken += 1) yield piece;
  };
  const endless: ApiResponse = {
    status: 200,
    headers: {},
    body: {
      kind: 'json',
      bytes: () => piece,
      value: () => undefined,
      pieces: () => ({ ...whole(piece), length: 1_000 * piece.length, pieces: pieces() }),
    },
  };
  const port = await serve(t, async () => endless, { writeStallMs: 200 });
  let isClosed = false;
  const stream = connect(t, port, 0).request({ ':path': '/', 'accept-encoding': 'gzip' });
  stream.on('error', () => {}).on('close', () => (isClosed = true));
  await eventually(() => isClosed, 'the answer is cut off');
  assert.ok(taken > 0 && taken < 50, `${taken} pieces`);
});
