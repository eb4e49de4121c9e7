import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import type { ApiResponse } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import { brokenBackend, exchangeOverHttp } from './proxy-exchange.ts';

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';

/** A server that changes the protocol of each connection, and its side of the only one. */
async function asked(
  t: TestContext,
  headers: Record<string, string>,
): Promise<{ readonly answer: Promise<ApiResponse>; readonly theirs: Socket }> {
  const server = createServer((socket) => void socket.once('data', () => socket.write(SWITCH)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const connected = once(server, 'connection');
  const { port } = server.address() as AddressInfo;
  const sent = httpRequest({ host: '127.0.0.1', port, headers, agent: false });
  const request = { method: 'GET', path: '/', query: new URLSearchParams(), headers } as const;
  const answer = exchangeOverHttp(sent, request, { clock: createSystemClock(), told: brokenBackend });
  // Noticed before anybody waits for it.
  answer.catch(() => {});
  const [theirs] = (await connected) as [Socket];
  return { answer, theirs };
}

for (const [asks, headers] of [
  ['by no header', {}],
  ['by `upgrade` alone', { upgrade: 'other' }],
  ['by `connection` alone', { connection: 'Upgrade' }],
] as const) {
  test(`a server that changes the protocol asked ${asks} is refused, and its connection ends`, async (t) => {
    const { answer, theirs } = await asked(t, headers);
    const closed = once(theirs, 'close');
    await assert.rejects(answer, { code: 500, message: /changed the protocol unasked/ });
    await closed;
  });
}

test('a server that changes the protocol as asked gives its connection away', async (t) => {
  const { answer, theirs } = await asked(t, { connection: 'Upgrade', upgrade: 'other' });
  const { status, upgrade } = await answer;
  assert.equal(status, 101);
  assert.ok(upgrade !== undefined);
  const client = new PassThrough();
  upgrade(client, new Uint8Array());
  theirs.end();
  await once(client, 'close');
});
