import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatagramReader, framedDatagram } from './agent/datagram-frames.ts';
import { Outside, type OutsideTarget } from './outside.ts';

async function open(t: TestContext, target: OutsideTarget): Promise<(first: object) => Socket> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-outside-'));
  const path = join(directory, 'outside.sock');
  const outside = new Outside(path, new Map([['it', target]]));
  await outside.start();
  t.after(async () => {
    await outside.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  return (first) => {
    const socket = connect(path);
    t.after(() => socket.destroy());
    socket.write(`${JSON.stringify(first)}\n`);
    return socket;
  };
}

const answerOf = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

test('a connection leads to a server of this machine', async (t) => {
  const server = createServer((socket) => socket.end('from the server')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const dial = await open(t, { tcp: () => ({ host: '127.0.0.1', port: address.port }) });
  assert.equal(await answerOf(dial({ target: 'it', protocol: 'tcp' })), 'from the server');
});

test('a connection is handed over with what was sent already', async (t) => {
  const dial = await open(t, {
    accept: (socket) => void socket.on('data', (chunk: Buffer) => socket.write(`heard ${String(chunk)}`)),
  });
  const early = dial({ target: 'it', protocol: 'tcp' });
  early.write('early');
  assert.equal(await answerOf(early), 'heard early');
  early.write('late');
  assert.equal(await answerOf(early), 'heard late');
});

test('datagrams are answered to the peer that sent them', async (t) => {
  const dial = await open(t, {
    datagram: async (bytes) => (String(bytes) === 'quiet' ? undefined : Buffer.from(`re ${String(bytes)}`)),
  });
  const line = dial({ target: 'it', protocol: 'udp' });
  const reader = new DatagramReader();
  const sent = [framedDatagram(7, Buffer.from('quiet')), framedDatagram(4_000_000_000, Buffer.from('one'))];
  line.write(Buffer.concat(sent));
  const [chunk] = await once(line, 'data');
  assert.deepEqual(
    reader.push(chunk).map(({ peer, bytes }) => [peer, String(bytes)]),
    [[4_000_000_000, 're one']],
  );
});

test('what leads nowhere is closed', async (t) => {
  const dial = await open(t, { tcp: () => undefined });
  for (const first of [
    { target: 'it', protocol: 'tcp' },
    { target: 'it', protocol: 'udp' },
    { target: 'other', protocol: 'tcp' },
  ])
    await once(dial(first), 'close');
});

test('frames are read whatever pieces they come in', () => {
  const reader = new DatagramReader();
  const all = Buffer.concat([framedDatagram(1, Buffer.from('one')), framedDatagram(2, Buffer.alloc(0))]);
  const found = [...all].flatMap((byte) => reader.push(Buffer.from([byte])));
  assert.deepEqual(
    found.map(({ peer, bytes }) => [peer, String(bytes)]),
    [
      [1, 'one'],
      [2, ''],
    ],
  );
});
