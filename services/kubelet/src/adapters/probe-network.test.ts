import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, Socket } from 'node:net';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { PlainAnswerError } from '../domain/plain-answer-error.ts';
import { createProbeNetwork } from './probe-network.ts';

const REDIRECT = 'HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 1000\r\n\r\n';
const DRIP_MS = 10;
const TIMEOUT_MS = 100;

/** Writes `beginning`, then one byte for each step of the clock, far past the time-out, and closes the connection. */
async function drip(socket: Socket, beginning: string, clock: VirtualClock): Promise<void> {
  socket.on('error', () => socket.destroy());
  // Each byte leaves at once, and the client reads it in the next turn of the event loop.
  socket.setNoDelay(true);
  socket.write(beginning);
  for (let bytes = 0; bytes < 100 && !socket.destroyed; bytes++) {
    await clock.advance(DRIP_MS);
    socket.write('x');
  }
  socket.destroy();
}

async function askDripping(beginning: string): Promise<void> {
  const clock = createVirtualClock();
  const dripping: Promise<void>[] = [];
  const server = createServer((socket) => dripping.push(drip(socket, beginning, clock)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `http://127.0.0.1:${address.port}/`;
  try {
    await createProbeNetwork(clock).httpGet({ url, headers: {}, timeoutMs: TIMEOUT_MS });
  } finally {
    server.close();
    await Promise.all(dripping);
  }
}

test('[PROBE-06] an open port is a success although the peer closes at once; a closed one is a failure', async () => {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { port } = address;
  const network = createProbeNetwork(createSystemClock());
  await network.connect('127.0.0.1', port, 10_000);
  server.close();
  await once(server, 'close');
  await assert.rejects(network.connect('127.0.0.1', port, 10_000), /ECONNREFUSED/);
});

for (const [part, beginning] of [
  ['body of a redirect', REDIRECT],
  ['headers', 'HTTP/1.1 200 OK\r\nx-slow: '],
] as const) {
  test(`[PROBE-05] an HTTP probe times out although a byte of the ${part} arrives now and then`, async () => {
    await assert.rejects(askDripping(beginning), { message: `no answer within ${TIMEOUT_MS} ms` });
  });
}

test('a request over TLS to a server of plain HTTP has an error of its own; a closed port has not', async () => {
  const server = createHttpServer((_request, response) => response.end('plain'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const request = { url: `https://127.0.0.1:${address.port}/`, headers: {}, timeoutMs: 10_000 };
  const network = createProbeNetwork(createSystemClock());
  await assert.rejects(network.httpGet(request), PlainAnswerError);
  server.close();
  await once(server, 'close');
  await assert.rejects(network.httpGet(request), (error) => !(error instanceof PlainAnswerError));
});

test('a request that is given up ends at once, with its connection', async () => {
  const closed = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => closed.resolve());
    socket.once('data', () => asked.resolve());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const caller = new AbortController();
  const url = `http://127.0.0.1:${address.port}/`;
  const request = { url, headers: {}, timeoutMs: TIMEOUT_MS, signal: caller.signal };
  const outcome = createProbeNetwork(createVirtualClock()).httpGet(request);
  const refused = assert.rejects(outcome, { name: 'AbortError' });
  await asked.promise;
  caller.abort();
  await refused;
  await closed.promise;
  server.close();
});

test('a request that is given up while its connection is made ends at once', async () => {
  const dialled = Promise.withResolvers<Socket>();
  const caller = new AbortController();
  const network = createProbeNetwork(createVirtualClock(), () => dialled.promise);
  const request = { url: 'http://10.244.0.2/', headers: {}, timeoutMs: TIMEOUT_MS, signal: caller.signal };
  const outcome = assert.rejects(network.httpGet(request), /the container has ended/);
  caller.abort(new Error('the container has ended'));
  await outcome;
});

test('[PROBE-06] a grpc check ends with its signal while its connection is made, and closes one that comes later', async () => {
  const dialled = Promise.withResolvers<Socket>();
  const network = createProbeNetwork(createVirtualClock(), () => dialled.promise);
  const gone = new AbortController();
  const check = network.grpcHealth({ host: '10.244.0.2', port: 80, service: '', signal: gone.signal });
  gone.abort(new Error('late'));
  await assert.rejects(check, /late/);
  const socket = new Socket();
  dialled.resolve(socket);
  await once(socket, 'close');
});
