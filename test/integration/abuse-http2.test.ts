import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { AbusedApi, type RawConnection, unharmed } from '../support/abused-api.ts';
import { waitFor } from '../support/wait.ts';

const MB = 1024 * 1024;

const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 } as const;
const END_STREAM = 1;
const END_HEADERS = 4;

function frame(type: keyof typeof TYPE, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.byteLength, 0, 3);
  head.writeUInt8(TYPE[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** GET https /version of the authority "x", from the static table of HPACK. */
const REQUEST = Buffer.concat([
  Buffer.from([0x82, 0x87, 0x04, 0x08]),
  Buffer.from('/version'),
  Buffer.from([0x41, 0x01, 0x78]),
]);
const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings', 0, 0)]);

describe('HTTP/2 floods', () => {
  let api: AbusedApi;
  before(async () => {
    api = await AbusedApi.start();
  });
  after(() => api[Symbol.asyncDispose]());

  async function open(): Promise<RawConnection> {
    const connection = await api.connect('h2');
    connection.socket.write(PREFACE);
    return connection;
  }

  /** Sends the flood until the server closes the connection or has accepted all of it; then measures memory. */
  async function flood(makeFrames: (round: number) => Buffer, rounds: number): Promise<RawConnection> {
    return unharmed(api, async () => {
      const before = await api.memory();
      const connection = await open();
      for (let round = 0; round < rounds && !connection.ended; round += 1) {
        await connection.write(makeFrames(round));
      }
      await api.givesBack(before, 30 * MB);
      return connection;
    });
  }

  const manyTimes = (count: number, make: (i: number) => Buffer): Buffer =>
    Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));

  test('rapid resets end the connection', async () => {
    const cancel = Buffer.from([0, 0, 0, 8]);
    const connection = await flood(
      (round) =>
        manyTimes(100, (i) => {
          const stream = (round * 100 + i) * 2 + 1;
          return Buffer.concat([
            frame('headers', END_HEADERS | END_STREAM, stream, REQUEST),
            frame('reset', 0, stream, cancel),
          ]);
        }),
      1_000,
    );
    await waitFor('the connection is closed', () => connection.ended);
  });

  test('streams above the limit are refused, the session continues', async () => {
    await unharmed(api, async () => {
      const session = await api.session();
      const answers = Array.from({ length: 2_000 }, () => statusOver(session, '/version'));
      const statuses = await Promise.all(answers);
      assert.ok(statuses.every((status) => status === 200 || status === undefined));
      assert.equal(await statusOver(session, '/version'), 200);
    });
  });

  test('pings cost nothing', async () => {
    await flood(() => manyTimes(1_000, () => frame('ping', 0, 0, Buffer.alloc(8))), 300);
  });

  test('settings cost nothing', async () => {
    await flood(() => manyTimes(1_000, () => frame('settings', 0, 0)), 300);
  });

  test('empty data frames cost nothing', async () => {
    const post = Buffer.concat([
      Buffer.from([0x83, 0x87, 0x04, 0x08]),
      Buffer.from('/version'),
      Buffer.from([0x41, 0x01, 0x78]),
    ]);
    await flood(
      (round) =>
        Buffer.concat([
          round === 0 ? frame('headers', END_HEADERS, 1, post) : Buffer.alloc(0),
          manyTimes(1_000, () => frame('data', 0, 1)),
        ]),
      100,
    );
  });

  test('endless headers are cut off', async () => {
    const filler = Buffer.concat([Buffer.from([0x00, 0x01, 0x61, 0x7f, 0x81, 0x7e]), Buffer.alloc(256, 0x62)]);
    const connection = await flood(
      (round) =>
        Buffer.concat([
          round === 0 ? frame('headers', 0, 1, REQUEST) : Buffer.alloc(0),
          frame('continuation', 0, 1, Buffer.concat(Array.from({ length: 50 }, () => filler))),
        ]),
      2_000,
    );
    await waitFor('the connection is closed', () => connection.ended);
  });

  test('huge headers are refused, and small ones are served afterwards', async () => {
    await unharmed(api, async () => {
      const large = await api.session({ maxSendHeaderBlockLength: 10 * MB });
      assert.equal(await statusOver(large, '/version', { 'x-large': 'x'.repeat(200_000) }), undefined);
      assert.equal(await statusOver(await api.session(), '/version'), 200);
    });
  });

  test('a window overflow and frames of unknown streams end the connection', async () => {
    const overflow = await flood(() => frame('windowUpdate', 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])), 10);
    await waitFor('the connection is closed', () => overflow.ended);
    const unknown = await flood(() => frame('data', 0, 77, Buffer.alloc(100)), 10);
    await waitFor('the connection is closed', () => unknown.ended);
  });
});

/** `undefined` when the stream was refused. */
async function statusOver(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const stream = session.request({ ':path': path, ...headers });
  return new Promise((resolve) => {
    let status: unknown;
    stream.on('response', (answered) => (status = answered[':status']));
    stream.on('error', () => {}).on('close', () => resolve(status));
    stream.resume();
  });
}
