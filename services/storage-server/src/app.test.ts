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
import { createTestCertificate, serialAt, serialOf } from '@holdfast/client/testing';
import { createSilentLog, createSystemClock, type Log } from '@holdfast/platform';
import { createStorageServer, type StorageServer, type StorageServerDeps } from './app.ts';
import { createMemoryBackend } from './backends/memory-backend.ts';
import { PAYLOAD_BYTES_MAX } from './limits.ts';

const MASTER_KEY = 'a master key that is long enough for a test';
const clock = createSystemClock();

interface World {
  readonly server: StorageServer;
  readonly ticket: (volume: string, token: number) => VolumeTicket;
  readonly open: (volume: string, token: number) => Promise<VolumeConnection>;
}

async function serve(t: TestContext, settings: Partial<StorageServerDeps> = {}): Promise<World> {
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

test('over TLS a client that names the authority of the server uses its volume, others do not reach it', async (t) => {
  const certificate = createTestCertificate();
  const { server, ticket } = await serve(t, { tls: { certificate: certificate.certPem, key: certificate.keyPem } });
  const ca = certificate.certPem;
  const writer = await VolumeConnection.open({ ...ticket('data', 1), ca }, clock);
  t.after(() => writer.close());
  await writer.write(0, Buffer.from('hello'));
  assert.equal((await writer.read(0, 5)).toString(), 'hello');
  const other = createTestCertificate().certPem;
  await assert.rejects(VolumeConnection.open({ ...ticket('data', 1), ca: other }, clock), /self-signed certificate/);
  await assert.rejects(VolumeConnection.open(ticket('data', 1), clock), /closed the connection|ECONNRESET/);
  const elsewhere = { ...ticket('data', 1), server: `localhost:${server.port()}`, ca };
  await assert.rejects(VolumeConnection.open(elsewhere, clock), /does not match certificate's altnames/);
});

test('a server that stops does not wait for clients that never end their TLS handshake', async (t) => {
  const { certPem, keyPem } = createTestCertificate();
  const { server } = await serve(t, { tls: { certificate: certPem, key: keyPem } });
  const socket = connect({ host: '127.0.0.1', port: server.port() });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  await server.stop();
  await closed;
});

test('a writer of an earlier attachment that asks again and again is written to the log once', async (t) => {
  const said: string[] = [];
  const log: Log = { ...createSilentLog(), warn: (message) => void said.push(message) };
  const { open, ticket } = await serve(t, { log });
  const old = await open('data', 3);
  await open('data', 4);
  for (let i = 0; i < 3; i++) await assert.rejects(old.flush(), refused('stale'));
  await assert.rejects(VolumeConnection.open(ticket('data', 3), clock), refused('stale'));
  assert.deepEqual(said, ['a writer of an earlier attachment was refused']);
});

test('a renewed certificate is served to new connections', async (t) => {
  const [first, renewed] = [createTestCertificate(), createTestCertificate()];
  const { server } = await serve(t, { tls: { certificate: first.certPem, key: first.keyPem } });
  assert.equal(await serialAt(server.port()), serialOf(first));
  server.renew({ certificate: renewed.certPem, key: renewed.keyPem });
  assert.equal(await serialAt(server.port()), serialOf(renewed));
});
