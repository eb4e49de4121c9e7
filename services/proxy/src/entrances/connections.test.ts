import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ALL_ENTRANCE_CONNECTIONS_MAX, ENTRANCE_CONNECTIONS_MAX } from '../limits.ts';
import { Connections } from './connections.ts';

/** A server that does with each connection what the test says; returns its port. */
async function listen(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    serve(socket);
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A client, and the connection that it made, which leads to the endpoint. */
async function carried(t: TestContext, endpoint: (socket: Socket) => void, halfClosedMs: number) {
  const port = await listen(t, endpoint);
  const connections = new Connections(
    async () => connect({ port, host: '127.0.0.1', allowHalfOpen: true }),
    halfClosedMs,
  );
  const accepted = Promise.withResolvers<Socket>();
  const entrance = await listen(t, (inner) => {
    void connections.carry(inner, { entrance: 'one', namespace: 'default', to: { host: '127.0.0.1', port } });
    accepted.resolve(inner);
  });
  const client = connect({ port: entrance, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  t.after(() => client.destroy());
  return { client, inner: await accepted.promise };
}

test('an endpoint that hangs does not keep the connection of a client that has gone', async (t) => {
  const { client, inner } = await carried(t, (socket) => socket.resume(), 10);
  client.end();
  await once(inner, 'close');
});

test('a client that ended its half still receives the answer', async (t) => {
  const { client } = await carried(t, (socket) => socket.resume().on('end', () => socket.end('answer')), 60_000);
  client.end('question');
  assert.equal(String((await once(client, 'data'))[0]), 'answer');
});

/** Counts the connections that are carried; none of them ever ends. */
function counting() {
  const connections = new Connections(() => new Promise(() => undefined));
  const socketFrom = (remoteAddress: string) => {
    const state = { isDestroyed: false, close: (): void => undefined };
    const socket = {
      remoteAddress,
      on: (_event: string, closed: () => void) => (state.close = closed),
      destroy: () => (state.isDestroyed = true),
    };
    return { state, socket: socket as unknown as Socket };
  };
  const open = (count: number, namespace: string, entrance: string, client: string) =>
    Array.from({ length: count }, () => {
      const { state, socket } = socketFrom(client);
      void connections.carry(socket, { entrance, namespace, to: { host: '', port: 1 } });
      return state;
    }).filter(({ isDestroyed }) => !isDestroyed);
  return open;
}

test('one client leaves connections of a port to others, and gets another one when one ends', () => {
  const open = counting();
  const greedy = open(ENTRANCE_CONNECTIONS_MAX, 'shop', 'web', '192.0.2.1');
  assert.equal(greedy.length, ENTRANCE_CONNECTIONS_MAX / 2);
  assert.equal(open(200, 'shop', 'web', '192.0.2.2').length, 200);
  assert.equal(open(1, 'shop', 'web', '192.0.2.1').length, 0);
  for (const { close } of greedy) close();
  assert.equal(open(1, 'shop', 'web', '192.0.2.1').length, 1);
});

test('one namespace leaves connections through this machine to others, whatever ports it has', () => {
  const open = counting();
  const ports = Array.from({ length: 8 }, (_, i) => `port-${i}`);
  const greedy = ports.flatMap((port) => open(ENTRANCE_CONNECTIONS_MAX, 'greedy', port, '127.0.0.1'));
  assert.equal(greedy.length, ALL_ENTRANCE_CONNECTIONS_MAX / 2);
  assert.equal(open(ENTRANCE_CONNECTIONS_MAX, 'shop', 'web', '127.0.0.1').length, ENTRANCE_CONNECTIONS_MAX);
});
