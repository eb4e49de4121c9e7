import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { nextTurn as turn } from '@holdfast/platform';
import { DatagramReader, framedDatagram } from './agent/datagram-frames.ts';
import { Outside, type OutsideTarget } from './outside.ts';

type Dial = ((first: object) => Socket) & { readonly raw: (text: string) => Socket };

async function open(t: TestContext, target: OutsideTarget): Promise<Dial> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-outside-'));
  const path = join(directory, 'outside.sock');
  const outside = new Outside(path, new Map([['it', target]]));
  await outside.start();
  t.after(async () => {
    await outside.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const raw = (text: string): Socket => {
    const socket = connect(path);
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(text);
    return socket;
  };
  return Object.assign((first: object) => raw(`${JSON.stringify(first)}\n`), { raw });
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

test('a connection is handed over with what was sent already, and the address of its pod', async (t) => {
  const dial = await open(t, {
    accept: (socket, source) =>
      void socket.on('data', (chunk: Buffer) => socket.write(`${source} heard ${String(chunk)}`)),
  });
  const early = dial({ target: 'it', protocol: 'tcp', from: '10.244.0.2' });
  early.write('early');
  assert.equal(await answerOf(early), '10.244.0.2 heard early');
  early.write('late');
  assert.equal(await answerOf(early), '10.244.0.2 heard late');
});

test('datagrams are answered to the peer that sent them', async (t) => {
  const dial = await open(t, {
    datagram: async (bytes, source) =>
      String(bytes) === 'quiet' ? undefined : Buffer.from(`${source} sent ${String(bytes)}`),
  });
  const line = dial({ target: 'it', protocol: 'udp', from: '10.244.0.2' });
  const reader = new DatagramReader();
  const sent = [framedDatagram(7, Buffer.from('quiet')), framedDatagram(4_000_000_000, Buffer.from('one'))];
  line.write(Buffer.concat(sent));
  const [chunk] = await once(line, 'data');
  assert.deepEqual(
    reader.push(chunk).map(({ peer, bytes }) => [peer, String(bytes)]),
    [[4_000_000_000, '10.244.0.2 sent one']],
  );
});

test('answers to a reader that stopped are lost, not kept without bound', async (t) => {
  const big = Buffer.alloc(60_000);
  const asked: string[] = [];
  const dial = await open(t, {
    datagram: async (bytes) => {
      asked.push(String(bytes));
      return String(bytes) === 'last' ? bytes : big;
    },
  });
  const line = dial({ target: 'it', protocol: 'udp' });
  line.pause();
  for (let i = 0; i < 1_000; i += 1) line.write(framedDatagram(i, Buffer.from('q')));
  while (asked.length < 1_000) await turn();
  const reader = new DatagramReader();
  const sizes: number[] = [];
  line.on('data', (chunk: Buffer) => {
    for (const { bytes } of reader.push(chunk)) sizes.push(bytes.length);
  });
  line.resume();
  while (sizes.at(-1) !== 4 && !t.signal.aborted) {
    line.write(framedDatagram(0, Buffer.from('last')));
    await turn();
  }
  assert.ok(sizes.length < 500, `${sizes.length} answers were kept`);
});

test('what is not a line of the agent is closed', async (t) => {
  const dial = await open(t, { tcp: () => undefined });
  for (const wrong of ['x'.repeat(5_000), 'nonsense\n', 'null\n']) await once(dial.raw(wrong), 'close');
  await once(dial({ target: 'it', protocol: 'udp' }), 'close');
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
