import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { serveWayOut } from './way-out.ts';

/** A way out whose control plane does with each request what the test says. */
async function open(
  t: TestContext,
  serve: (socket: Socket, line: string) => void,
): Promise<(localAddress?: string) => Socket> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-way-out-'));
  const sockets = new Set<Socket>();
  const outside = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (line) => serve(socket, String(line)));
  }).listen(join(directory, 'outside.sock'));
  const server: Server = createServer().listen(0, '127.0.0.1');
  const bounds = { perHolder: 2, all: 3 };
  serveWayOut(server, { outside: join(directory, 'outside.sock'), target: 'other', groupOf: () => '', bounds });
  await Promise.all([once(outside, 'listening'), once(server, 'listening')]);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    for (const each of [outside, server]) each.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return (localAddress = '127.0.0.1') => {
    const socket = connect({ port: address.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    sockets.add(socket);
    return socket;
  };
}

const CONNECTED = '{"connected":true}\n';

test('the control plane hears where a pod wants to go, and then carries the bytes', async (t) => {
  const dial = await open(t, (socket, line) => socket.write(`${CONNECTED}${line}`));
  const socket = dial();
  const [said] = await once(socket, 'data');
  const { to, ...rest } = JSON.parse(String(said)) as { readonly to: object };
  assert.deepEqual(rest, { target: 'other', protocol: 'tcp', from: '127.0.0.1' });
  assert.deepEqual(to, { host: '127.0.0.1', port: socket.remotePort });
});

test('a connection that cannot be made is reset', async (t) => {
  const dial = await open(t, (socket) => socket.end('{"refused":"no"}\n'));
  const [error] = await once(dial(), 'error');
  assert.ok(error instanceof Error && 'code' in error);
  assert.equal(error.code, 'ECONNRESET');
});

test('one pod has a bounded number of connections to other networks', async (t) => {
  const dial = await open(t, (socket) => socket.write(`${CONNECTED}there`));
  const own = [dial(), dial()];
  await Promise.all(own.map((socket) => once(socket, 'data')));
  await once(dial(), 'error');
  assert.deepEqual(
    own.map(({ destroyed }) => destroyed),
    [false, false],
  );
});

test('pods that have taken every connection to other networks lose one to a pod that has none', async (t) => {
  const dial = await open(t, (socket) => socket.write(`${CONNECTED}there`));
  const greedy = [dial(), dial()];
  const modest = dial('127.0.0.2');
  await Promise.all([...greedy, modest].map((socket) => once(socket, 'data')));
  const lost = Promise.race(greedy.map((socket) => once(socket, 'error')));
  await Promise.all([once(dial('127.0.0.3'), 'data'), lost]);
  assert.deepEqual([greedy.filter(({ destroyed }) => destroyed).length, modest.destroyed], [1, false]);
});
