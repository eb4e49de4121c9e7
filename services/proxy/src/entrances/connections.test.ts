import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
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
    void connections.carry(inner, { entrance: 'one', to: { host: '127.0.0.1', port } });
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
