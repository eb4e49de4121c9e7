import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { CsiConnection } from './connection.ts';
import { CsiError, isFinal } from './csi-error.ts';

/** What a call to a driver with this answer ends with. */
async function failureOf(t: TestContext, answer: (stream: ServerHttp2Stream) => void): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-csi-'));
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    answer(stream);
  });
  const path = join(folder, 'csi.sock');
  await once(server.listen(path), 'listening');
  const connection = new CsiConnection(path, createSystemClock());
  t.after(() => {
    connection.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return connection
    .call(({ controller }, options) => controller.createVolume({ name: 'v' }, options))
    .then(
      () => assert.fail('the call fails'),
      (error: unknown) => error,
    );
}

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+proto' };
/** The first bytes of a message of nine. */
const PART = Buffer.from([0, 0, 0, 0, 9, 1, 2]);
const INTERNAL_ERROR = 2;

test('an answer that is cut off leaves the outcome unknown, and a status of the driver is a refusal', async (t) => {
  const ends: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
    'before the answer': (stream) => stream.session?.destroy(),
    'after the headers': (stream) => {
      stream.respond(HEADERS);
      stream.end();
    },
    'in the message': (stream) => {
      stream.respond(HEADERS);
      stream.end(PART);
    },
    'with an error of the stream': (stream) => stream.close(INTERNAL_ERROR),
  };
  for (const [when, answer] of Object.entries(ends)) {
    const error = await failureOf(t, answer);
    assert.deepEqual([error instanceof CsiError, isFinal(error)], [true, false], `${when}: ${String(error)}`);
  }
  const refused = await failureOf(t, (stream) =>
    stream.respond(
      { ...HEADERS, 'grpc-status': '13', 'grpc-message': 'protocol error of the disk' },
      { endStream: true },
    ),
  );
  assert.deepEqual(
    [isFinal(refused), String(refused)],
    [true, 'CsiError: rpc error: code = Internal desc = protocol error of the disk'],
  );
});
