import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { nextTurn as turn } from '@holdfast/platform';
import { DatagramReader } from './datagram-frames.ts';
import { DATAGRAM_BACKLOG_MAX_BYTES } from './limits.ts';
import { DatagramLine, Relays } from './relays.ts';

/** The control plane's end of the relays. */
async function outside(t: TestContext, serve: (socket: Socket) => void): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-relays-'));
  const path = join(directory, 'outside.sock');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  }).listen(path);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return path;
}

test('a flood of datagrams is lost, not kept without bound', async (t) => {
  const reader = new DatagramReader();
  const arrived: number[] = [];
  let head = true;
  const path = await outside(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      const frames = head ? chunk.subarray(chunk.indexOf('\n') + 1) : chunk;
      head = false;
      for (const { bytes } of reader.push(frames)) arrived.push(bytes.length);
    });
  });
  const line = new DatagramLine({ send: () => undefined }, path, 'first\n');
  t.after(() => line.close());
  const from = { address: '10.244.0.2', family: 'IPv4', port: 53, size: 0 } as const;
  const size = 1_000;
  const sent = (10 * DATAGRAM_BACKLOG_MAX_BYTES) / size;
  for (let i = 0; i < sent; i += 1) line.send(Buffer.alloc(size), from);
  while (arrived.at(-1) !== 1 && !t.signal.aborted) {
    line.send(Buffer.alloc(1), from);
    await turn();
  }
  const kept = arrived.filter((each) => each === size).length;
  assert.ok(kept > 0 && kept < sent / 5, `${kept} of ${sent} were kept`);
});

test('one pod has a bounded number of connections to a relay, and may open another when one ends', async (t) => {
  const path = await outside(t, (socket) => void socket.once('data', (line) => socket.write(String(line))));
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const place = probe.address();
  assert.ok(typeof place === 'object' && place !== null);
  probe.close();
  await once(probe, 'close');
  const relays = new Relays(path, 2);
  await relays.serve([{ address: '127.0.0.1', port: place.port, protocol: 'tcp', target: 'api' }]);
  t.after(() => relays.serve([]));
  const open = (): Socket => {
    const socket = connect(place.port, '127.0.0.1').on('error', () => undefined);
    t.after(() => socket.destroy());
    return socket;
  };
  const [first, second] = [open(), open()];
  const [[line]] = await Promise.all([once(first, 'data'), once(second, 'data')]);
  assert.equal(String(line), '{"target":"api","protocol":"tcp","from":"127.0.0.1"}\n');
  await once(open(), 'close');
  first.destroy();
  while (!t.signal.aborted) {
    const next = open();
    const isServed = await Promise.race([once(next, 'data').then(() => true), once(next, 'close').then(() => false)]);
    if (isServed) break;
  }
});
