import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, test } from 'node:test';
import { createSystemClock, describeError, OperatorError } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createTestCertificate, startTestServer } from '../testing/https-server.ts';
import { transportContract } from './contract.ts';
import { createHttpsTransport, type HttpsTransportOptions } from './https.ts';
import { type ApiRequest, type ApiResponse, TransportError } from './port.ts';

const certificate = createTestCertificate();
const clock = createSystemClock();

const connect = (servers: readonly string[], extra: Partial<HttpsTransportOptions> = {}) =>
  createHttpsTransport({ servers, caPem: certificate.certPem, clock, ...extra });

const request = (method: 'GET' | 'POST', query = ''): ApiRequest => ({
  method,
  path: '/x',
  query: new URLSearchParams(query),
  headers: {},
  ...(method === 'POST' ? { body: '{}' } : {}),
});

const text = (body: string, status = 200): ApiResponse => ({
  status,
  headers: {},
  body: { kind: 'text', contentType: 'text/plain', text: body },
});

const textOf = (response: ApiResponse): string => (response.body.kind === 'text' ? response.body.text : '');

/** Accepts connections and never sends anything. */
async function startBlackHole(): Promise<{ url: string; server: Server }> {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  server.unref();
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

transportContract('https', async (handler, use) => {
  const server = await startTestServer(handler, certificate);
  const transport = connect([server.url]);
  try {
    await use(transport);
  } finally {
    await transport.close();
    await server.close();
  }
});

test('https: reads and writes fail over from unreachable servers, and stay with the one that served', async () => {
  const gone = await startTestServer(async () => text('gone'), certificate);
  await gone.close();
  const hole = await startBlackHole();
  const well = await startTestServer(async () => text('well'), certificate);
  const transport = connect([gone.url, hole.url, well.url], { connectTimeoutMs: 3_000 });
  assert.equal(textOf(await transport.request(request('POST'))), 'well');
  assert.equal(textOf(await transport.request(request('GET'))), 'well');
  await transport.close();
  await well.close();
});

test('https: a write that may have been sent is never retried, a read is', async () => {
  const arrived: string[] = [];
  const breaking = await startTestServer(async ({ method }) => {
    arrived.push(method);
    breaking.dropConnections();
    return text('too late');
  }, certificate);
  const well = await startTestServer(async () => text('well'), certificate);
  const write = connect([breaking.url, well.url]);
  await assert.rejects(write.request(request('POST')), (e) => e instanceof TransportError && e.possiblySent);
  assert.deepEqual(arrived, ['POST']);
  const read = connect([breaking.url, well.url]);
  assert.equal(textOf(await read.request(request('GET'))), 'well');
  await Promise.all([write.close(), read.close(), breaking.close(), well.close()]);
});

test('https: a request without an answer ends at the deadline', async () => {
  const slow = await startTestServer(() => new Promise(() => {}), certificate);
  const transport = connect([slow.url], { requestDeadlineMs: 5_000 });
  await assert.rejects(transport.request(request('POST')), (e) => e instanceof TransportError && e.possiblySent);
  await transport.close();
  await slow.close();
});

test('https: a half-open watch ends with an error', async () => {
  async function* silence(signal: AbortSignal | undefined) {
    const event = { type: 'ADDED' as const, object: {} };
    yield { bytes: () => Buffer.from(`${JSON.stringify(event)}\n`), value: () => event };
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
  }
  const server = await startTestServer(
    async ({ signal }) => ({ status: 200, headers: {}, body: { kind: 'watch', frames: silence(signal) } }),
    certificate,
  );
  const transport = connect([server.url], { watchIdleMs: 2_000 });
  const response = await transport.request(request('GET', 'watch=true'));
  assert.ok(response.body.kind === 'watch');
  const { frames } = response.body;
  let seen = 0;
  await assert.rejects(async () => {
    for await (const frame of frames) seen += frame.value().type === 'ADDED' ? 1 : 0;
  }, TransportError);
  assert.equal(seen, 1);
  await transport.close();
  await server.close();
});

test('https: a server with a certificate of another authority is refused', async () => {
  const server = await startTestServer(async () => text('well'), createTestCertificate());
  const transport = connect([server.url]);
  await assert.rejects(transport.request(request('POST')), (e) => e instanceof TransportError && !e.possiblySent);
  await transport.close();
  await server.close();
});

test('https: addresses are validated at once', () => {
  for (const servers of [[], ['http://a:1'], ['nonsense']]) assert.throws(() => connect(servers), OperatorError);
});

test('https: lines of a server that falls silent end with an error, not never', async () => {
  async function* half(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{}\n');
    await new Promise(() => {});
  }
  const answer: ApiResponse = {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson' },
    body: { kind: 'stream', chunks: half() },
  };
  const server = await startTestServer(async () => answer, certificate);
  const virtual = createVirtualClock();
  const transport = connect([server.url], { clock: virtual, watchIdleMs: 200 });
  const { body } = await transport.request(request('GET'));
  assert.ok(body.kind === 'stream');
  const chunks = body.chunks[Symbol.asyncIterator]();
  assert.equal(String(Buffer.from((await chunks.next()).value ?? [])), '{}\n');
  const silent = assert.rejects(
    chunks.next(),
    (error) => error instanceof TransportError && /nothing came for 200 ms/.test(describeError(error)),
  );
  virtual.skip(200);
  await silent;
  await transport.close();
  await server.close();
});
