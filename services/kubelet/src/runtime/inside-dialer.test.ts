import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { INSIDE_DIAL_DEADLINE_MS, INSIDE_LINGER_MS, InsideDialer } from './inside-dialer.ts';

async function listen(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

/** `enter` is empty: the helper runs in the network of the test. */
function create(t: TestContext, enter: () => readonly string[] = () => []) {
  const clock = createVirtualClock();
  let entered = 0;
  const dialer = new InsideDialer({
    clock,
    helpersMax: 2,
    connectionsMax: 20,
    enter: () => {
      entered += 1;
      return enter();
    },
  });
  t.after(() => dialer.close());
  return { clock, dialer, entered: () => entered };
}

test('many connections into one pod share one helper, and each carries all bytes in both directions', async (t) => {
  const port = await listen(t, (socket) => {
    socket.write('early ');
    socket.on('data', (chunk: Buffer) => socket.write(`heard ${String(chunk)}`));
    socket.on('end', () => socket.end(' end'));
  });
  const { dialer, entered } = create(t);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => dialer.dial('pod', port)));
  for (const [i, socket] of sockets.entries()) {
    socket.end(`${i}`);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.equal(text, `early heard ${i} end`);
  }
  assert.equal(entered(), 1);
});

test('a program that ends its half first still receives the other half', async (t) => {
  const heard = Promise.withResolvers<string>();
  const port = await listen(t, (socket) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += String(chunk)));
    socket.on('end', () => heard.resolve(text));
    socket.end();
  });
  const { dialer } = create(t);
  const socket = await dialer.dial('pod', port);
  await once(socket.resume(), 'end');
  socket.end('afterwards');
  assert.equal(await heard.promise, 'afterwards');
});

test('a port that refuses is told, and the next connection uses the same helper', async (t) => {
  const port = await listen(t, (socket) => socket.end());
  const { dialer, entered } = create(t);
  await assert.rejects(dialer.dial('pod', 1), /ECONNREFUSED 127\.0\.0\.1:1/);
  (await dialer.dial('pod', port)).destroy();
  assert.equal(entered(), 1);
});

test('a pod has a bounded number of connections, and one that ends makes room', async (t) => {
  const port = await listen(t, () => undefined);
  const { dialer } = create(t);
  const all = await Promise.all(Array.from({ length: 20 }, () => dialer.dial('pod', port)));
  await assert.rejects(dialer.dial('pod', port), /the pod has 20 connections to its loopback address/);
  const [first] = all;
  assert.ok(first);
  first.destroy();
  await once(first, 'close');
  all[0] = await dialer.dial('pod', port);
  for (const socket of all) socket.destroy();
});

test('a bounded number of pods has a helper, and one that is not used ends while its connections go on', async (t) => {
  const port = await listen(t, (socket) => socket.pipe(socket));
  const { clock, dialer } = create(t);
  const [first, second] = await Promise.all([dialer.dial('first', port), dialer.dial('second', port)]);
  await assert.rejects(dialer.dial('another', port), /2 other pods are being opened; retry in 5 s/);
  await clock.advance(INSIDE_LINGER_MS);
  const another = await dialer.dial('another', port);
  first.write('still there');
  assert.equal(String((await once(first, 'data'))[0]), 'still there');
  for (const socket of [first, second, another]) socket.destroy();
});

test('a helper that cannot start or does not answer is reported, and the next connection gets another', async (t) => {
  const port = await listen(t, (socket) => socket.end());
  let command: readonly string[] = ['/nowhere'];
  const { clock, dialer } = create(t, () => command);
  await assert.rejects(dialer.dial('pod', port), /cannot enter the network of the pod: .*ENOENT/);
  command = ['/bin/sh', '-c', 'exec sleep 60'];
  const late = dialer.dial('pod', port);
  late.catch(() => undefined);
  await clock.advance(INSIDE_DIAL_DEADLINE_MS);
  await assert.rejects(late, /the helper ended \(SIGKILL\)/);
  command = [];
  (await dialer.dial('pod', port)).destroy();
});
