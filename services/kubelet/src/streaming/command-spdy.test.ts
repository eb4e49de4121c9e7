import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { eventually } from '../runtime/contract.ts';
import { readToEnd, within } from '../runtime/contract-streams.ts';
import { acceptCommandSpdy } from './command-spdy.ts';
import { controlFrame, FRAME } from './spdy/frames.ts';
import { createSpdySession } from './spdy/session.ts';

const clock = createSystemClock();
const options = { stdin: false, stdout: true, stderr: false, tty: false };
const INITIAL_WINDOW = [0, 0, 0, 1, 0, 0, 0, 7];

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

test('output delayed by flow control arrives before the session ends, and so does the exit code', async (t) => {
  const [peer, socket] = duplexPair();
  t.after(() => {
    peer.destroy();
    socket.destroy();
  });
  const accepted = acceptCommandSpdy(socket, Buffer.alloc(0), {
    clock,
    options,
    protocol: { status: true, resize: false },
  });
  peer.write(controlFrame(FRAME.settings, 0, Buffer.concat([Buffer.from(INITIAL_WINDOW), uint32(1_000)])));
  const client = createSpdySession(peer, { role: 'client', clock, onStream: () => undefined });
  const error = client.openStream({ streamtype: 'error' });
  const stdout = client.openStream({ streamtype: 'stdout' });
  const connection = await within(accepted, 'the streams');
  assert.ok(connection?.stdout !== undefined);
  let received = 0;
  stdout.on('data', (chunk: Buffer) => (received += chunk.length));
  const status = readToEnd(error);
  connection.stdout.write(Buffer.alloc(3_000, 'x'));
  connection.finish({ kind: 'exitCode', exitCode: 6 });
  await eventually(() => received === 1_000, 'the window is used up');
  peer.write(controlFrame(FRAME.windowUpdate, 0, Buffer.concat([uint32(3), uint32(2_000)])));
  assert.match(String(await within(status, 'the status')), /"6"/);
  await within(client.closed, 'the end');
  assert.equal(received, 3_000);
});
