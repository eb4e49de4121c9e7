import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { createSystemClock } from '@holdfast/platform';
import fc from 'fast-check';
import { within } from '../runtime/contract-streams.ts';
import { acceptCommandSpdy } from './command-spdy.ts';
import { acceptCommandWebSocket } from './command-websocket.ts';
import { forwardOverChannels, forwardOverSpdy } from './forward-ports.ts';
import { runCommand } from './run-command.ts';
import { SPDY_DICTIONARY } from './spdy/dictionary.ts';
import { controlFrame, dataFrame, FRAME } from './spdy/frames.ts';
import { createHeaderReader, createHeaderWriter, encodeHeaders } from './spdy/header-block.ts';
import { createSpdySession } from './spdy/session.ts';
import { acceptTunnel } from './websocket/tunnel.ts';

const clock = createSystemClock();
const options = { stdin: true, stdout: true, stderr: false, tty: true };

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const synStream = (id: number, block: Buffer): Buffer =>
  controlFrame(FRAME.synStream, 0, Buffer.concat([uint32(id), uint32(0), Buffer.alloc(2), block]));

/** Unpacks to more than a header block may have, from about a hundred bytes. */
const bomb = (): Buffer => {
  const block = deflateSync(encodeHeaders({ a: 'x'.repeat(80_000) }), { dictionary: SPDY_DICTIONARY });
  return synStream(1, block);
};

test('a header block that inflates beyond its limit ends its connection and nothing else', async (t) => {
  assert.ok(bomb().length < 200, `${bomb().length} bytes`);
  const [peer, socket] = duplexPair();
  t.after(() => peer.destroy());
  const session = createSpdySession(socket, { role: 'server', clock, onStream: () => assert.fail('no stream') });
  peer.write(bomb());
  await within(session.closed, 'the end of the connection');
});

test('a header reader that failed or was closed rejects all later input', async () => {
  const failed = createHeaderReader();
  await assert.rejects(failed.read(bomb().subarray(18)), /too long/);
  await assert.rejects(failed.read(createHeaderWriter()({ a: '1' })), /too long/);
  const closed = createHeaderReader();
  const pending = closed.read(createHeaderWriter()({ a: '1' }));
  closed.close();
  await assert.rejects(pending, /the connection is gone/);
});

test('a client that requests answers and does not read them is cut off', async (t) => {
  const [peer, socket] = duplexPair();
  t.after(() => peer.destroy());
  const session = createSpdySession(socket, { role: 'server', clock, onStream: () => undefined });
  const pings = Buffer.concat(Array.from({ length: 8_000 }, () => controlFrame(FRAME.ping, 0, uint32(1))));
  const flood = (): void => void (socket.destroyed || peer.write(pings, flood));
  flood();
  await within(session.closed, 'the end of the connection');
});

/** A handler for a connection: its handling of bytes must never reach the process. */
type Serve = (socket: Duplex) => Promise<unknown>;

const command = { exec: () => Promise.resolve(processStreams()) };

function processStreams() {
  const [stdin, inside] = duplexPair();
  inside.resume();
  const [stdout, end] = duplexPair();
  end.end('output');
  return {
    stdin,
    stdout,
    resize: () => undefined,
    ended: Promise.resolve({ exitCode: 0 }),
    close: () => stdin.destroy(),
  };
}

const ports = {
  clock,
  what: String,
  connect: (port: number): Promise<Duplex> => {
    const [pod, inPod] = duplexPair();
    inPod.resume();
    inPod.end('answer');
    return port % 2 === 0 ? Promise.resolve(pod) : Promise.reject(new Error('refused'));
  },
};

const SPDY: Readonly<Record<string, Serve>> = {
  command: async (socket) => {
    const protocol = { status: true, resize: true };
    const connection = await acceptCommandSpdy(socket, Buffer.alloc(0), { clock, options, protocol });
    if (connection !== undefined) await runCommand(connection, command.exec, 'exec');
  },
  ports: (socket) => forwardOverSpdy(socket, Buffer.alloc(0), ports),
  client: (socket) => {
    const session = createSpdySession(socket, { role: 'client', clock, onStream: (stream) => stream.destroy() });
    for (const streamtype of ['error', 'data']) session.openStream({ streamtype }).resume();
    return session.closed;
  },
};

const CHANNELS = { status: true, encoding: 'binary' } as const;
const WEB_SOCKET: Readonly<Record<string, Serve>> = {
  command: (socket) =>
    runCommand(
      acceptCommandWebSocket(socket, Buffer.alloc(0), { clock, options, protocol: CHANNELS }),
      command.exec,
      'exec',
    ),
  base64: (socket) =>
    runCommand(
      acceptCommandWebSocket(socket, Buffer.alloc(0), {
        clock,
        options,
        protocol: { ...CHANNELS, encoding: 'base64' },
      }),
      command.exec,
      'exec',
    ),
  ports: (socket) => forwardOverChannels(socket, Buffer.alloc(0), { ...ports, ports: [80, 81], encoding: 'binary' }),
  tunnel: (socket) => forwardOverSpdy(acceptTunnel(socket, Buffer.alloc(0), clock), Buffer.alloc(0), ports),
};

const streamHeaders = fc.record({
  streamtype: fc.constantFrom('error', 'data', 'stdin', 'stdout', 'resize', 'constructor'),
  port: fc.constantFrom('80', '81', '0', 'x'),
  requestid: fc.constantFrom('0', '1', '__proto__'),
});
const id = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.nat(0x7fff_ffff));
const flags = fc.constantFrom(0, 0, 1, 2, 255);
const payload = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));

/** Written by one compressor each, so that a session of several frames gets past its first. */
type Piece = (write: ReturnType<typeof createHeaderWriter>) => Buffer;
const spdyPiece: fc.Arbitrary<Piece> = fc.oneof(
  fc.tuple(id, streamHeaders).map(
    ([stream, headers]): Piece =>
      (write) =>
        synStream(stream, write(headers)),
  ),
  fc.tuple(id, flags, payload).map(
    ([stream, flag, bytes]): Piece =>
      () =>
        dataFrame(stream, flag, bytes),
  ),
  fc.tuple(fc.nat(12), flags, payload).map(
    ([type, flag, bytes]): Piece =>
      () =>
        controlFrame(type, flag, bytes),
  ),
  fc.constant<Piece>(bomb),
);
const spdyBytes = fc.array(spdyPiece, { maxLength: 8 }).map((pieces) => {
  const write = createHeaderWriter();
  return Buffer.concat(pieces.map((piece) => piece(write)));
});

const webSocketFrame = fc
  .tuple(fc.constantFrom(0x01, 0x02, 0x81, 0x82, 0x80, 0x00, 0x88, 0x89, 0x8a), payload, fc.boolean())
  .map(([first, bytes, masked]) =>
    Buffer.concat([
      Buffer.from([first, (masked ? 0x80 : 0) | bytes.length]),
      ...(masked ? [Buffer.alloc(4)] : []),
      bytes,
    ]),
  );
/** Frames that begin with a channel's number and end with JSON, SPDY or nothing that is known. */
const channelFrame = fc
  .tuple(
    fc.constantFrom(0, 1, 3, 4, 9, 255, 0x30),
    fc.oneof(payload, spdyBytes, fc.constant(Buffer.from('{"Width":1}'))),
  )
  .map(([channel, bytes]) => {
    const body = Buffer.concat([Buffer.from([channel]), bytes]);
    return Buffer.concat([Buffer.from([0x82, 0xfe, body.length >> 8, body.length & 0xff]), Buffer.alloc(4), body]);
  });
const webSocketBytes = fc
  .array(fc.oneof(webSocketFrame, channelFrame), { maxLength: 8 })
  .map((frames) => Buffer.concat(frames));

interface Attack {
  readonly bytes: Buffer;
  readonly changes: readonly (readonly [number, number])[];
  readonly cut: number;
  readonly end: 'end' | 'destroy' | 'error';
}

const attacks = (bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Attack> =>
  fc.record({
    bytes: fc.oneof(bytes, payload),
    changes: fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 3 }),
    cut: fc.nat(300),
    end: fc.constantFrom('end', 'destroy', 'error'),
  });

function mutated({ bytes, changes }: Attack): Buffer {
  const changed = Buffer.from(bytes);
  for (const [at, value] of changes) if (changed.length > 0) changed[at % changed.length] = value;
  return changed;
}

async function attack(serve: Serve, how: Attack): Promise<void> {
  const [peer, socket] = duplexPair();
  peer.on('error', () => undefined);
  peer.resume();
  const served = serve(socket);
  const bytes = mutated(how);
  const cut = how.cut % (bytes.length + 1);
  peer.write(bytes.subarray(0, cut));
  await new Promise<void>((resolve) => peer.write(bytes.subarray(cut), () => resolve()));
  if (how.end === 'end') peer.end();
  else if (how.end === 'destroy') socket.destroy();
  else socket.destroy(new Error('the connection broke'));
  await within(served, 'the end of the connection');
}

for (const [protocol, ways, bytes] of [
  ['SPDY', SPDY, spdyBytes],
  ['WebSocket', WEB_SOCKET, webSocketBytes],
] as const) {
  for (const [name, serve] of Object.entries(ways)) {
    test(`invalid or broken frames of ${protocol} never end the process: ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(attacks(bytes), (how) => attack(serve, how)),
        { numRuns: 300 },
      );
    });
  }
}
