import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { acceptKey, encodeFrame, FrameReader } from '@holdfast/platform/websocket';
import { WebSocket } from 'ws';
import { eventually } from '../../runtime/contract.ts';
import { readToEnd, readUntil, within } from '../../runtime/contract-streams.ts';
import { acceptChannels, type ChannelEncoding, type Channels } from './channels.ts';
import { acceptTunnel } from './tunnel.ts';

const clock = createSystemClock();

/** Frames as a client sends them. */
function masked(first: number, payload: Buffer): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const frame = encodeFrame(0, payload);
  const head = frame.subarray(0, frame.length - payload.length);
  head[0] = first;
  head[1] = (head[1] ?? 0) | 0x80;
  const hidden = Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0)));
  return Buffer.concat([head, mask, hidden]);
}

function readFrames(bytes: Buffer, size: number): string {
  const seen: string[] = [];
  const reader = new FrameReader({
    data: (piece, { first, last, text }) =>
      seen.push(`${first ? (text ? 'T' : 'B') : ''}${piece.toString('latin1')}${last ? '.' : ''}`),
    ping: (payload) => seen.push(`ping ${payload.toString()}`),
    pong: () => seen.push('pong'),
    close: (code) => seen.push(`close ${code}`),
  });
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  return seen.join('');
}

test('the handshake key of the specification', () => {
  assert.equal(acceptKey('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
});

test('frames are parsed at any chunk boundary, with fragmented messages and control frames in between', () => {
  const bytes = Buffer.concat([
    masked(0x82, Buffer.from('one')),
    masked(0x01, Buffer.from('tw')),
    masked(0x89, Buffer.from('p')),
    masked(0x80, Buffer.from('o')),
    masked(0x8a, Buffer.alloc(0)),
    masked(0x82, Buffer.alloc(0)),
    masked(0x82, Buffer.from('x'.repeat(70_000))),
    masked(0x82, Buffer.from('y'.repeat(300))),
    masked(0x88, Buffer.from([0x03, 0xe8])),
  ]);
  const expected = `Bone.Ttwping po.pongB.B${'x'.repeat(70_000)}.B${'y'.repeat(300)}.close 1000`;
  for (const size of [1, 2, 3, 7, 64, 4_096, bytes.length]) assert.equal(readFrames(bytes, size), expected, `${size}`);
});

test('frames that a client may not send are refused', () => {
  const cases: readonly [string, Buffer][] = [
    ['not masked', Buffer.from(encodeFrame(2, Buffer.from('x')))],
    ['extension bits', masked(0xc2, Buffer.from('x'))],
    ['unknown opcode', masked(0x83, Buffer.from('x'))],
    ['unknown control opcode', masked(0x8b, Buffer.alloc(0))],
    ['a control frame in parts', masked(0x09, Buffer.alloc(0))],
    ['a control frame that is too long', masked(0x89, Buffer.alloc(126))],
    ['a part without a beginning', masked(0x80, Buffer.from('x'))],
    ['a beginning inside a message', Buffer.concat([masked(0x02, Buffer.from('x')), masked(0x82, Buffer.from('y'))])],
  ];
  for (const [what, bytes] of cases) {
    assert.throws(() => readFrames(bytes, bytes.length), { name: 'WebSocketProtocolError' }, what);
  }
});

/** A client of another make, connected to `accept`. */
async function connect(t: TestContext, accept: (socket: Duplex, head: Buffer) => void): Promise<WebSocket> {
  const server = createServer();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const key = acceptKey(request.headers['sec-websocket-key'] ?? '');
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    socket.write(`${lines.join('\r\n')}\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
    t.after(() => socket.destroy());
    accept(socket, head);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const client = new WebSocket(`ws://127.0.0.1:${address.port}`, { perMessageDeflate: false });
  t.after(() => {
    client.terminate();
    server.close();
  });
  await once(client, 'open');
  return client;
}

interface Connected {
  readonly client: WebSocket;
  readonly channels: Channels;
  readonly socket: Duplex;
}

async function channels(t: TestContext, encoding: ChannelEncoding): Promise<Connected> {
  const accepted = Promise.withResolvers<Omit<Connected, 'client'>>();
  const client = await connect(t, (socket, head) =>
    accepted.resolve({ channels: acceptChannels(socket, head, { clock, encoding }), socket }),
  );
  return { client, ...(await accepted.promise) };
}

test('binary channels: bytes both ways, sizes, and the end of an input', async (t) => {
  const { client, channels: server } = await channels(t, 'binary');
  const sizes: string[] = [];
  server.onMessage(4, (text) => sizes.push(text));
  const input = server.input(0);
  const received: Buffer[] = [];
  client.on('message', (data: Buffer) => received.push(data));
  server.output(1).write('out');
  client.send(Buffer.from('\u0004{"Width":80}'));
  client.send(Buffer.from('\u0000hello '));
  client.send(Buffer.from('\u0009to nobody'));
  client.send(Buffer.from(`\u0000${'world'.repeat(50_000)}`));
  client.send(Buffer.from([255, 0]));
  assert.equal(await readToEnd(input), `hello ${'world'.repeat(50_000)}`);
  assert.deepEqual(sizes, ['{"Width":80}']);
  await eventually(() => received.length > 0, 'the output');
  assert.deepEqual(received, [Buffer.from('\u0001out')]);
});

test('base64 channels', async (t) => {
  const { client, channels: server } = await channels(t, 'base64');
  const received: string[] = [];
  client.on('message', (data: Buffer, isBinary: boolean) => received.push(`${isBinary} ${data.toString()}`));
  const input = server.input(0);
  client.send(`0${Buffer.from('five!').toString('base64')}`);
  client.send(`0${Buffer.from('z'.repeat(100_000)).toString('base64')}`);
  await readUntil(input, /^five!z{100000}$/);
  server.output(1).write('ü');
  await eventually(() => received.length > 0, 'the output');
  assert.deepEqual(received, [`false 1${Buffer.from('ü').toString('base64')}`]);
});

test('an unread input blocks the client', async (t) => {
  const { client, channels: server, socket } = await channels(t, 'binary');
  const input = server.input(0);
  input.on('readable', () => undefined);
  const block = Buffer.alloc(1024 * 1024);
  for (let i = 0; i < 16; i++) client.send(block);
  await eventually(() => socket.isPaused(), 'the server reads no more');
  assert.ok(input.readableLength < 2 * 1024 * 1024 && client.bufferedAmount > 0, `${input.readableLength}`);
  let read = 0;
  input.off('readable', () => undefined);
  input.removeAllListeners('readable');
  input.on('data', (chunk: Buffer) => (read += chunk.length));
  await eventually(() => read === 16 * (block.length - 1), 'all of it in the end');
});

test('the close of the client ends its inputs, and the server answers with a close frame', async (t) => {
  const one = await channels(t, 'binary');
  const input = one.channels.input(0);
  one.client.terminate();
  assert.equal(await readToEnd(input), '');
  await within(one.channels.closed, 'the end');
  const two = await channels(t, 'binary');
  const closed = once(two.client, 'close');
  two.channels.close();
  const [code] = await within(closed, 'the goodbye');
  assert.equal(code, 1000);
  await within(two.channels.closed, 'the end');
});

test('a tunnel carries the bytes of another protocol', async (t) => {
  const accepted = Promise.withResolvers<Duplex>();
  const client = await connect(t, (socket, head) => accepted.resolve(acceptTunnel(socket, head, clock)));
  const tunnel = await accepted.promise;
  const received: Buffer[] = [];
  client.on('message', (data: Buffer) => received.push(data));
  client.send(Buffer.from('question'));
  await readUntil(tunnel, /^question$/);
  tunnel.write('answer');
  await eventually(() => Buffer.concat(received).toString() === 'answer', 'the answer');
  const closed = new Promise<void>((resolve) => tunnel.once('close', () => resolve()));
  client.close();
  await within(closed, 'the end');
});
