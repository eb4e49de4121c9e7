import assert from 'node:assert/strict';
import { Duplex, duplexPair, type Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { constants, createDeflate, createInflate } from 'node:zlib';
import { createSystemClock, nextTurn } from '@holdfast/platform';
import { eventually } from '../../runtime/contract.ts';
import { readToEnd, within } from '../../runtime/contract-streams.ts';
import { STREAM_BUFFER_BYTES } from '../limits.ts';
import { SPDY_DICTIONARY } from './dictionary.ts';
import { controlFrame, dataFrame, FLAG_FIN, FRAME, SpdyFrameReader } from './frames.ts';
import {
  createHeaderReader,
  createHeaderWriter,
  decodeHeaders,
  encodeHeaders,
  type HeaderReader,
} from './header-block.ts';
import { createSpdySession, type SpdySession, type SpdyStream } from './session.ts';

const clock = createSystemClock();

interface Ends {
  readonly client: SpdySession;
  readonly server: SpdySession;
  readonly accepted: SpdyStream[];
  readonly serverSocket: Duplex;
}

function connect(t: TestContext): Ends {
  const [clientSocket, serverSocket] = duplexPair();
  const accepted: SpdyStream[] = [];
  const server = createSpdySession(serverSocket, { role: 'server', clock, onStream: (each) => accepted.push(each) });
  const client = createSpdySession(clientSocket, { role: 'client', clock, onStream: () => undefined });
  t.after(() => {
    clientSocket.destroy();
    serverSocket.destroy();
  });
  return { client, server, accepted, serverSocket };
}

/** The connection is in memory: a session that may send has sent after these turns. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await nextTurn();
}

async function openPair(ends: Ends, headers: Record<string, string>): Promise<[SpdyStream, SpdyStream]> {
  const before = ends.accepted.length;
  const mine = ends.client.openStream(headers);
  const theirs = await eventually(() => ends.accepted[before], 'the stream is accepted');
  return [mine, theirs];
}

test('the dictionary is that of SPDY/3', () => {
  let [a, b] = [1, 0];
  for (const byte of SPDY_DICTIONARY) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  assert.equal((b * 0x1_0000 + a).toString(16), 'e3c6a7c2');
});

test('header blocks of another compressor are read, each on arrival', async () => {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY });
  const reader = createHeaderReader();
  const blocks = [{ streamtype: 'error' }, { streamtype: 'stdout', port: '80' }, { streamtype: 'stdout', port: '80' }];
  for (const headers of blocks) {
    const compressed = await new Promise<Buffer>((resolve) => {
      deflate.write(encodeHeaders(headers));
      deflate.flush(constants.Z_SYNC_FLUSH, () => resolve(deflate.read()));
    });
    assert.deepEqual(await within(reader.read(compressed), 'the block'), headers);
  }
  reader.close();
});

test('our header blocks are readable by any inflater', async () => {
  const write = createHeaderWriter();
  const inflate = createInflate({ dictionary: SPDY_DICTIONARY, finishFlush: constants.Z_SYNC_FLUSH });
  inflate.end(Buffer.concat([write({ a: '1' }), write({ b: 'ü' })]));
  const plain: Buffer[] = [];
  for await (const piece of inflate) plain.push(piece);
  assert.deepEqual(Buffer.concat(plain), Buffer.concat([encodeHeaders({ a: '1' }), encodeHeaders({ b: 'ü' })]));
});

test('a broken header block is refused', async () => {
  const reader = createHeaderReader();
  await assert.rejects(reader.read(Buffer.from('no compressed data')), { name: 'SpdyProtocolError' });
  for (const bytes of [Buffer.from([0, 0, 0]), Buffer.from([0, 0, 0, 1, 0, 0, 0, 9, 1])]) {
    assert.throws(() => decodeHeaders(bytes), { name: 'SpdyProtocolError' });
  }
});

test('frames are parsed at any chunk boundary', () => {
  const bytes = Buffer.concat([
    controlFrame(FRAME.ping, 0, Buffer.from([0, 0, 0, 1])),
    dataFrame(3, 0, Buffer.from('hello')),
    dataFrame(3, FLAG_FIN, Buffer.alloc(0)),
  ]);
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new SpdyFrameReader();
    const seen: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      for (const frame of reader.push(bytes.subarray(at, at + size))) {
        if (frame.kind === 'control') seen.push(`control ${frame.type}`);
        else seen.push(frame.piece.toString(), ...(frame.fin ? ['fin'] : []));
      }
    }
    assert.equal(seen.join(''), 'control 6hellofin', `in pieces of ${size}`);
  }
});

test('invalid frames end the reading', () => {
  const tooLong = controlFrame(FRAME.settings, 0, Buffer.alloc(0));
  tooLong.writeUInt32BE(0xff_ffff, 4);
  const wrongVersion = controlFrame(FRAME.ping, 0, Buffer.alloc(4));
  wrongVersion.writeUInt16BE(0x8002, 0);
  for (const bytes of [tooLong, wrongVersion, Buffer.from('GET / HTTP/1.1\r\n').fill(0xff, 0, 1)]) {
    assert.throws(() => new SpdyFrameReader().push(bytes), { name: 'SpdyProtocolError' });
  }
});

test('streams carry bytes both ways, and each half ends independently', async (t) => {
  const ends = connect(t);
  const [mine, theirs] = await openPair(ends, { streamtype: 'data', port: '80' });
  assert.deepEqual(theirs.headers, { streamtype: 'data', port: '80' });
  mine.end('question');
  assert.equal(await readToEnd(theirs), 'question');
  theirs.end('answer after their end');
  assert.equal(await readToEnd(mine), 'answer after their end');
});

test('large data arrive complete on several concurrent streams', async (t) => {
  const ends = connect(t);
  const text = 'a line of text\n'.repeat(100_000);
  const pairs = [await openPair(ends, { n: '1' }), await openPair(ends, { n: '2' }), await openPair(ends, { n: '3' })];
  for (const [mine] of pairs) mine.end(text);
  const received = await Promise.all(pairs.map(([, theirs]) => readToEnd(theirs)));
  assert.ok(received.every((each) => each === text));
});

/** Ends the flood of a session that does not hold the sender up. */
const FLOOD_BYTES_MAX = 64 * 1024 * 1024;

test('a reader that does not read blocks the sender, and memory stays bounded', async (t) => {
  const ends = connect(t);
  const [mine, theirs] = await openPair(ends, {});
  let written = 0;
  const flood = (): void => {
    const block = Buffer.alloc(64 * 1024);
    for (let room = true; room && written < FLOOD_BYTES_MAX; written += block.length) room = mine.write(block);
  };
  mine.on('drain', flood);
  flood();
  await eventually(() => theirs.readableLength >= STREAM_BUFFER_BYTES, 'the buffer is full');
  const before = written;
  await manyTurns();
  assert.ok(written - before <= 1024 * 1024 && theirs.readableLength <= 2 * STREAM_BUFFER_BYTES);
  mine.off('drain', flood);
  let read = 0;
  theirs.on('data', (chunk: Buffer) => (read += chunk.length));
  await eventually(() => read === written, 'all of it is read in the end');
});

test('a reset stream ends on the other side; the session continues', async (t) => {
  const ends = connect(t);
  const [mine, theirs] = await openPair(ends, { n: '1' });
  const closed = new Promise<void>((resolve) => theirs.once('close', () => resolve()));
  mine.destroy();
  await within(closed, 'the reset');
  const [next, accepted] = await openPair(ends, { n: '2' });
  next.end('still here');
  assert.equal(await readToEnd(accepted), 'still here');
});

test('a peer with flow control windows does not get more than it allows', async (t) => {
  const [peer, socket] = duplexPair();
  t.after(() => {
    peer.destroy();
    socket.destroy();
  });
  const streams: SpdyStream[] = [];
  createSpdySession(socket, { role: 'server', clock, onStream: (each) => streams.push(each) });
  const settings = Buffer.alloc(12);
  settings.writeUInt32BE(1, 0);
  settings.writeUInt32BE(7, 4);
  settings.writeUInt32BE(1_000, 8);
  peer.write(controlFrame(FRAME.settings, 0, settings));
  const syn = Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), createHeaderWriter()({ n: '1' })]);
  peer.write(controlFrame(FRAME.synStream, 0, syn));
  const received = countData(peer);
  const stream = await eventually(() => streams[0], 'the stream');
  stream.write(Buffer.alloc(2_500));
  await eventually(() => received() === 1_000, 'the window is used up');
  await manyTurns();
  assert.equal(received(), 1_000);
  peer.write(controlFrame(FRAME.windowUpdate, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0x07, 0xd0])));
  await eventually(() => received() === 2_500, 'the rest');
});

function countData(peer: Readable): () => number {
  const reader = new SpdyFrameReader();
  let bytes = 0;
  peer.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) if (frame.kind === 'data') bytes += frame.piece.length;
  });
  return () => bytes;
}

test('the end of the connection ends every stream, and invalid data ends the connection', async (t) => {
  const ends = connect(t);
  const [, theirs] = await openPair(ends, {});
  const closed = new Promise<void>((resolve) => theirs.once('close', () => resolve()));
  ends.serverSocket.destroy();
  await within(Promise.all([closed, ends.server.closed]), 'the end');
  const [peer, socket] = duplexPair();
  t.after(() => peer.destroy());
  const session = createSpdySession(socket, { role: 'server', clock, onStream: () => undefined });
  peer.write(Buffer.alloc(64, 0xff));
  await within(session.closed, 'garbage ends it');
});

test('a connection that closes while a header block is read opens no stream', async (t) => {
  const [peer, socket] = duplexPair();
  t.after(() => peer.destroy());
  const read = Promise.withResolvers<void>();
  const headers: HeaderReader = {
    read: async () => {
      socket.destroy();
      await session.closed;
      void nextTurn().then(read.resolve);
      return { streamtype: 'error' };
    },
    close: () => undefined,
  };
  const opened: SpdyStream[] = [];
  const onStream = (stream: SpdyStream): void => void opened.push(stream);
  const session = createSpdySession(socket, { role: 'server', clock, onStream, headers });
  const client = createSpdySession(peer, { role: 'client', clock, onStream });
  client.openStream({ streamtype: 'error' });
  await within(read.promise, 'the end of the block');
  assert.deepEqual(opened, []);
});
