import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { nextTurn as turn } from '@holdfast/platform';
import { DatagramReader } from './datagram-frames.ts';
import type { FairPlacesBounds } from './fair-places.ts';
import { DATAGRAM_BACKLOG_MAX_BYTES } from './limits.ts';
import { DatagramLine, DatagramLines, join as joinSockets, Relays } from './relays.ts';

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

test('each pod has a line of its own, and the one that was quiet longest loses its line to a new pod', () => {
  const closed: string[] = [];
  const lines = new DatagramLines((from) => ({ from, close: () => void closed.push(from) }), 2);
  const first = lines.of('10.244.0.2');
  lines.of('10.244.0.3');
  assert.equal(lines.of('10.244.0.2'), first);
  lines.of('10.244.0.4');
  assert.deepEqual(closed, ['10.244.0.3']);
  assert.equal(lines.of('10.244.0.2'), first);
  lines.close();
  assert.deepEqual(closed.toSorted(), ['10.244.0.2', '10.244.0.3', '10.244.0.4']);
});

/** A loopback address that no other process listens at, so that a port stays free until it is opened. */
const ADDRESS = `127.${100 + (process.pid >> 16)}.${(process.pid >> 8) % 256}.${process.pid % 256}`;

/** Returns how a pod connects to a relay with these bounds, which answers with the first line. */
async function relay(t: TestContext, bounds: FairPlacesBounds): Promise<(localAddress?: string) => Socket> {
  const path = await outside(t, (socket) => void socket.once('data', (line) => socket.write(String(line))));
  const probe = createServer().listen(0, ADDRESS);
  await once(probe, 'listening');
  const place = probe.address();
  assert.ok(typeof place === 'object' && place !== null);
  probe.close();
  await once(probe, 'close');
  const relays = new Relays(path, () => '', bounds);
  await relays.serve([{ address: ADDRESS, port: place.port, protocol: 'tcp', target: 'api' }]);
  t.after(() => relays.serve([]));
  return (localAddress = '127.0.0.1') => {
    const socket = connect({ port: place.port, host: ADDRESS, localAddress }).on('error', () => undefined);
    t.after(() => socket.destroy());
    return socket;
  };
}

test('all pods together have a bounded number of connections to a relay', async (t) => {
  const open = await relay(t, { perHolder: 10, all: 2 });
  await Promise.all([open('127.0.0.1'), open('127.0.0.2')].map((socket) => once(socket, 'data')));
  await once(open('127.0.0.3'), 'close');
});

test('a pod that takes every connection to a relay loses one to a pod that has none', async (t) => {
  const open = await relay(t, { perHolder: 10, all: 2 });
  const [kept, lost] = [open(), open()];
  await Promise.all([kept, lost].map((socket) => once(socket, 'data')));
  const [other] = await Promise.all([
    once(open('127.0.0.2'), 'data'),
    Promise.race([once(kept, 'error'), once(lost, 'error')]),
  ]);
  assert.match(String(other[0]), /"from":"127\.0\.0\.2"/);
});

test('one pod has a bounded number of connections to a relay, and may open another when one ends', async (t) => {
  const open = await relay(t, { perHolder: 2, all: 10 });
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

/** Two connections whose near ends are joined, as a control plane and a pod have them. */
async function joined(t: TestContext, halfClosedIdleMs: number) {
  const nearEnds: Socket[] = [];
  const path = await outside(t, (socket) => void nearEnds.push(socket));
  const far = [0, 1].map(() => connect({ path, allowHalfOpen: true }).on('error', () => undefined));
  for (const socket of far) t.after(() => socket.destroy());
  while (nearEnds.length < 2 && !t.signal.aborted) await turn();
  const [one, other] = nearEnds;
  const [client, pod] = far;
  assert.ok(one && other && client && pod);
  for (const socket of nearEnds) socket.allowHalfOpen = true;
  joinSockets(one, other, halfClosedIdleMs);
  return { one, other, client, pod };
}

test('a side that neither sends nor ends after the end of the other one does not keep the connection', async (t) => {
  const { one, other, client, pod } = await joined(t, 10);
  pod.resume();
  client.destroy();
  await Promise.all([once(one, 'close'), once(other, 'close'), once(pod, 'end')]);
});

test('a side that ended its half still receives', async (t) => {
  const { client, pod } = await joined(t, 60_000);
  client.end('asks');
  await once(pod.resume(), 'end');
  pod.end('answers');
  assert.equal(String((await once(client, 'data'))[0]), 'answers');
});

test('a connection whose one side closed before they were joined closes the other one', async (t) => {
  const path = await outside(t, () => undefined);
  const [gone, other] = [connect(path), connect(path)];
  t.after(() => other.destroy());
  await Promise.all([once(gone, 'connect'), once(other, 'connect')]);
  gone.destroy();
  await once(gone, 'close');
  joinSockets(gone, other);
  await once(other, 'close');
});
