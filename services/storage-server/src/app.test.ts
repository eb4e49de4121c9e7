import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import {
  VolumeConnection,
  VolumeRefusal,
  type VolumeTicket,
  volumeKey,
  volumeProof,
} from '@holdfast/client/storage-server';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { createStorageServer, type StorageServer } from './app.ts';
import { createMemoryBackend } from './backends/memory-backend.ts';
import { PAYLOAD_BYTES_MAX } from './limits.ts';

const MASTER_KEY = 'a master key that is long enough for a test';
const clock = createSystemClock();

interface World {
  readonly server: StorageServer;
  readonly ticket: (volume: string, token: number) => VolumeTicket;
  readonly open: (volume: string, token: number) => Promise<VolumeConnection>;
}

async function serve(t: TestContext, settings: { volumesMax?: number; connectionsMax?: number } = {}): Promise<World> {
  const server = createStorageServer({
    host: '127.0.0.1',
    port: 0,
    masterKey: MASTER_KEY,
    connectionsMax: 10,
    volumesMax: 10,
    volumeBytesMax: 2 * PAYLOAD_BYTES_MAX,
    backend: createMemoryBackend(),
    clock,
    log: createSilentLog(),
    ...settings,
  });
  await server.start();
  t.after(() => server.stop());
  const ticket = (volume: string, token: number): VolumeTicket => ({
    server: `127.0.0.1:${server.port()}`,
    volume,
    token,
    proof: volumeProof(volumeKey(MASTER_KEY, volume), volume, token),
  });
  const open = async (volume: string, token: number): Promise<VolumeConnection> => {
    const connection = await VolumeConnection.open(ticket(volume, token), clock);
    t.after(() => connection.close());
    return connection;
  };
  return { server, ticket, open };
}

const refused = (code: string) => (error: unknown) => error instanceof VolumeRefusal && error.code === code;

test('a volume is opened, written, flushed and read, and counted', async (t) => {
  const { server, open } = await serve(t);
  const writer = await open('data', 3);
  const large = Buffer.alloc(PAYLOAD_BYTES_MAX, 'x');
  await writer.write(PAYLOAD_BYTES_MAX, large);
  await writer.write(0, Buffer.from('hello'));
  await writer.flush();
  assert.deepEqual(await writer.stat(), { size: 2 * PAYLOAD_BYTES_MAX, token: 3 });
  const reader = await open('data', 3);
  assert.equal((await reader.read(0, 6)).toString(), 'hello\0');
  assert.ok((await reader.read(PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX)).equals(large));
  const metrics = server.metrics();
  assert.match(metrics, /storage_server_requests_total\{operation="write",result="ok"\} 2/);
  assert.match(metrics, /storage_server_connections 2/);
  assert.match(metrics, /storage_server_volumes 1/);
});

test('[RWO-15] a connection of an earlier attachment is refused from the moment the next one is open, and its refusals are counted', async (t) => {
  const { server, open, ticket } = await serve(t);
  const old = await open('data', 3);
  await old.write(0, Buffer.from('old'));
  const next = await open('data', 4);
  await assert.rejects(old.write(0, Buffer.from('bad')), refused('stale'));
  await assert.rejects(old.read(0, 3), refused('stale'));
  await assert.rejects(old.flush(), refused('stale'));
  await assert.rejects(VolumeConnection.open(ticket('data', 3), clock), refused('stale'));
  assert.equal((await next.read(0, 3)).toString(), 'old');
  assert.match(server.metrics(), /operation="write",result="stale"\} 1/);
});

test('a proof opens only its own volume with its own token', async (t) => {
  const { ticket } = await serve(t);
  const mine = ticket('mine', 3);
  for (const wrong of [
    { ...mine, volume: 'yours' },
    { ...mine, token: 4 },
    { ...mine, proof: '0'.repeat(64) },
    { ...mine, proof: volumeProof(volumeKey('another master key of another server', 'mine'), 'mine', 3) },
  ])
    await assert.rejects(VolumeConnection.open(wrong, clock), refused('denied'));
});

test('a wrong proof creates no volume and raises no token', async (t) => {
  const { server, ticket, open } = await serve(t);
  await assert.rejects(VolumeConnection.open({ ...ticket('data', 99), proof: '0'.repeat(64) }, clock));
  assert.match(server.metrics(), /storage_server_volumes 0/);
  await open('data', 1);
});

test('a volume has a maximum size, a server a maximum number of volumes', async (t) => {
  const { open, ticket } = await serve(t, { volumesMax: 1 });
  const writer = await open('data', 1);
  await assert.rejects(writer.write(2 * PAYLOAD_BYTES_MAX - 1, Buffer.from('ab')), refused('range'));
  await assert.rejects(writer.read(Number.MAX_SAFE_INTEGER, 1), refused('range'));
  await writer.write(2 * PAYLOAD_BYTES_MAX - 1, Buffer.from('a'));
  await assert.rejects(VolumeConnection.open(ticket('other', 1), clock), refused('full'));
});

test('an invalid request is answered once, and the connection is closed', async (t) => {
  const { server } = await serve(t);
  const socket = connect({ host: '127.0.0.1', port: server.port() });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const heard: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => heard.push(chunk));
  await once(socket, 'close');
  assert.match(Buffer.concat(heard).toString(), /^error bad the request is none of: open VOLUME TOKEN PROOF.*\n$/);
});

test('connections beyond the maximum are closed at once', async (t) => {
  const { open, ticket } = await serve(t, { connectionsMax: 1 });
  const first = await open('data', 1);
  await assert.rejects(VolumeConnection.open(ticket('data', 1), clock));
  await first.flush();
});

test('a server that stops closes its connections', async (t) => {
  const { server, open } = await serve(t);
  const writer = await open('data', 1);
  await server.stop();
  await assert.rejects(writer.flush());
});
