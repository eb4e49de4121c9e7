import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { test } from 'node:test';
import { nextTurn as turn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import {
  DNS_CONNECTION_IDLE_MS,
  DNS_CONNECTIONS_MAX,
  DNS_CONNECTIONS_PER_SOURCE_MAX,
  DNS_PIPELINE_MAX,
} from './limits.ts';
import { QueryConnections } from './query-connections.ts';
import { FrameReader, framed } from './tcp-frames.ts';

const echo = (query: Buffer): Promise<Buffer> => Promise.resolve(query);

function create(answer: (query: Buffer) => Promise<Buffer | undefined> = echo) {
  const clock = createVirtualClock();
  const connections = new QueryConnections({ clock, answer });
  const open = (source = '10.244.0.2'): { readonly client: Duplex; readonly server: Duplex } => {
    const [client, server] = duplexPair();
    client.on('error', () => undefined);
    connections.serve(server, source);
    return { client, server };
  };
  return { clock, connections, open };
}

test('one client address has a bounded number of connections, and another one is still served', async () => {
  const { open } = create();
  const own = Array.from({ length: DNS_CONNECTIONS_PER_SOURCE_MAX }, () => open());
  assert.equal(own.filter(({ server }) => server.destroyed).length, 0);
  assert.equal(open().server.destroyed, true);
  assert.equal(open('10.244.0.3').server.destroyed, false);
  const [first] = own;
  first?.server.destroy();
  await turn();
  assert.equal(open().server.destroyed, false, 'a connection that ended makes room');
});

test('all client addresses together have a bounded number of connections', () => {
  const { open } = create();
  for (let i = 0; i < DNS_CONNECTIONS_MAX; i++) assert.equal(open(`source ${i}`).server.destroyed, false);
  assert.equal(open('another').server.destroyed, true);
});

test('client addresses that have all connections lose one to an address that has none', () => {
  const { open } = create();
  const greedy = Array.from({ length: DNS_CONNECTIONS_MAX }, (_, i) => open(`greedy ${i % 5}`));
  assert.equal(open('modest').server.destroyed, false);
  assert.equal(greedy.filter(({ server }) => server.destroyed).length, 1);
});

test('bytes that make no query do not extend the time of a connection, and a query does', async () => {
  const { clock, open } = create();
  const { client, server } = open();
  const half = DNS_CONNECTION_IDLE_MS / 2;
  await clock.advance(half);
  client.write(framed(Buffer.from('whole')));
  await once(client, 'readable');
  await clock.advance(half);
  client.write(Buffer.from([0]));
  await turn();
  await clock.advance(half - 1);
  assert.equal(server.destroyed, false);
  await clock.advance(1);
  assert.equal(server.destroyed, true);
});

test('a bounded number of queries of one connection is answered at the same time, and all of them in the end', async () => {
  const answers: (() => void)[] = [];
  let most = 0;
  let now = 0;
  const { open } = create(async (query) => {
    now += 1;
    most = Math.max(most, now);
    await new Promise<void>((resolve) => answers.push(resolve));
    now -= 1;
    return query;
  });
  const { client } = open();
  const count = 10 * DNS_PIPELINE_MAX;
  const reader = new FrameReader();
  let received = 0;
  client.on('data', (chunk: Buffer) => {
    received += reader.push(chunk).length;
  });
  client.end(Buffer.concat(Array.from({ length: count }, (_, i) => framed(Buffer.from(`query ${i}`)))));
  const ended = once(client, 'end');
  while (received < count) {
    for (const answer of answers.splice(0)) answer();
    await turn();
  }
  assert.equal(most, DNS_PIPELINE_MAX);
  await ended;
});

test('a client that does not read its answers is read no further, and loses its connection', async () => {
  let asked = 0;
  const { clock, open } = create(async () => {
    asked += 1;
    return Buffer.alloc(60_000);
  });
  const { client, server } = open();
  const query = framed(Buffer.from('q'));
  for (let i = 0; i < 1_000; i++) client.write(query);
  for (let i = 0; i < 100; i++) await turn();
  assert.ok(asked < 100, `${asked} queries were answered`);
  await clock.advance(DNS_CONNECTION_IDLE_MS);
  assert.equal(server.destroyed, true);
});

test('what is no question ends its connection, and so does the end of the server', async () => {
  const { connections, open } = create(async (query) => (String(query) === 'nonsense' ? undefined : query));
  const { client, server } = open();
  client.write(framed(Buffer.from('nonsense')));
  await once(server, 'close');
  const other = open();
  connections.close();
  await once(other.server, 'close');
});
