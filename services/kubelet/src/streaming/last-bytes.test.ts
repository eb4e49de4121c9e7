import assert from 'node:assert/strict';
import { Duplex, duplexPair, type Writable } from 'node:stream';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '../runtime/contract.ts';
import { readToEnd, within } from '../runtime/contract-streams.ts';
import { forwardOverChannels, forwardOverSpdy } from './forward-ports.ts';
import { controlFrame, dataFrame, FLAG_FIN, FRAME } from './spdy/frames.ts';
import { createHeaderWriter } from './spdy/header-block.ts';
import { createSpdySession } from './spdy/session.ts';
import { acceptTunnel } from './websocket/tunnel.ts';

const clock = createSystemClock();
const NO_HEAD = Buffer.alloc(0);

/** A connection whose end is known before its last bytes were taken: a paused TCP socket emits `end` all the same. */
function endingAtOnce(bytes: Buffer): Duplex {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  socket.once('pause', () => {
    socket.push(null);
    socket.read(0);
  });
  socket.push(bytes);
  return socket;
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** The reply's header block is unpacked on another thread, so the frames behind it are taken later. */
function answerOf(stream: number, text: string): Buffer {
  return Buffer.concat([
    controlFrame(FRAME.synReply, 0, Buffer.concat([uint32(stream), createHeaderWriter()({})])),
    dataFrame(stream, FLAG_FIN, Buffer.from(text)),
  ]);
}

function opened(requestId: string, types: readonly string[]): Buffer {
  const write = createHeaderWriter();
  const frames = types.map((streamtype, index) => {
    const block = write({ streamtype, port: '80', requestid: requestId });
    return controlFrame(FRAME.synStream, 0, Buffer.concat([uint32(1 + 2 * index), uint32(0), Buffer.alloc(2), block]));
  });
  return Buffer.concat(frames);
}

/** A pod's end of a forwarded port that takes one piece at a time, after the client has gone. */
function slowPod(): { readonly connection: Duplex; readonly received: () => string; readonly take: () => void } {
  let text = '';
  const waiting: (() => void)[] = [];
  const connection = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      waiting.push(done);
    },
  });
  return { connection, received: () => text, take: () => waiting.splice(0).forEach((done) => done()) };
}

test('the status sent with the end of the connection is read', async () => {
  const socket = endingAtOnce(answerOf(1, '{"status":"Success"}'));
  const session = createSpdySession(socket, { role: 'client', clock, onStream: () => undefined });
  const error = session.openStream({ streamtype: 'error' });
  assert.equal(await within(readToEnd(error), 'the status'), '{"status":"Success"}');
  await within(session.closed, 'the end');
});

test('output that its reader takes late is read in full, although the connection has ended', async () => {
  const frames = [answerOf(1, 'x'.repeat(600_000)), dataFrame(3, FLAG_FIN, Buffer.from('done'))];
  const socket = endingAtOnce(Buffer.concat(frames));
  const session = createSpdySession(socket, { role: 'client', clock, onStream: () => undefined });
  const output = session.openStream({ streamtype: 'stdout' });
  const status = session.openStream({ streamtype: 'error' });
  await eventually(() => output.readableLength > 0, 'the output');
  assert.equal((await within(readToEnd(output), 'the output')).length, 600_000);
  assert.equal(await within(readToEnd(status), 'the status'), 'done');
});

test('bytes that a client forwarded before it disconnected reach the pod, over SPDY', async () => {
  const sent = Buffer.concat([opened('0', ['error', 'data']), dataFrame(3, FLAG_FIN, Buffer.from('last words'))]);
  const { connection, received, take } = slowPod();
  const deps = { clock, connect: () => Promise.resolve(connection), what: String };
  await within(forwardOverSpdy(endingAtOnce(sent), NO_HEAD, deps), 'the end of the client');
  await eventually(() => received() === 'last words', 'the bytes');
  assert.equal(connection.destroyed, false, 'the pod has not taken them yet');
  take();
  await eventually(() => connection.destroyed, 'the connection to the pod is closed');
});

function masked(payload: Buffer): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([0x82, ...lengthBytes]), Buffer.alloc(4), payload]);
}

test('bytes that a client forwarded before it disconnected reach the pod, over WebSocket', async () => {
  const { connection, received, take } = slowPod();
  const given = { clock, connect: () => Promise.resolve(connection), what: String, ports: [80] };
  const sent = Buffer.concat([masked(Buffer.from('\u0000last ')), masked(Buffer.from('\u0000words'))]);
  const [client, socket] = duplexPair();
  client.resume();
  const served = forwardOverChannels(socket, NO_HEAD, { ...given, encoding: 'binary' });
  client.end(sent);
  await within(served, 'the end of the client');
  take();
  await eventually(() => (take(), received() === 'last words'), 'the bytes');
  await eventually(() => (take(), connection.destroyed), 'the connection to the pod is closed');
});

test('bytes that a client forwarded before it disconnected reach the pod, over a tunnel', async () => {
  const sent = Buffer.concat([opened('0', ['error', 'data']), dataFrame(3, FLAG_FIN, Buffer.from('last words'))]);
  const { connection, received, take } = slowPod();
  const deps = { clock, connect: () => Promise.resolve(connection), what: String };
  const [client, socket] = duplexPair();
  client.resume();
  const served = forwardOverSpdy(acceptTunnel(socket, NO_HEAD, clock), NO_HEAD, deps);
  client.end(masked(sent));
  await within(served, 'the end of the client');
  await eventually(() => received() === 'last words', 'the bytes');
  take();
  await eventually(() => connection.destroyed, 'the connection to the pod is closed');
});

test('a tunnel delivers the data that came before its end', async (t) => {
  const [client, socket] = duplexPair();
  client.resume();
  const tunnel = acceptTunnel(socket, NO_HEAD, clock);
  t.after(() => tunnel.destroy());
  client.end(masked(Buffer.from('last words')));
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await within(gone, 'the end of the connection');
  assert.equal(await within(readToEnd(tunnel), 'the bytes'), 'last words');
});

test('a disconnected client does not wait for a process that does not read', async (t) => {
  const timers: { readonly run: () => void; readonly cancel: () => void }[] = [];
  const timer: typeof clock.timer = (_delayMs, run) => {
    const one = { run, cancel: () => void timers.splice(timers.indexOf(one) >>> 0, 1) };
    timers.push(one);
    return one;
  };
  const sent = Buffer.concat([opened('0', ['stdin']), dataFrame(1, 0, Buffer.alloc(600_000)), Buffer.alloc(0)]);
  const socket: Writable & Duplex = endingAtOnce(sent);
  t.after(() => socket.destroy());
  const session = createSpdySession(socket, { role: 'server', clock: { ...clock, timer }, onStream: () => undefined });
  await eventually(() => timers.length === 2, 'the deadline beside the signs of life');
  timers.at(-1)?.run();
  await within(session.closed, 'the end');
});
