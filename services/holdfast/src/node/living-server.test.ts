import assert from 'node:assert/strict';
import { createServer, type Server, Socket } from 'node:net';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createLivingServer } from './living-server.ts';

const clock = createSystemClock();
const SERVERS = ['https://one:6443', 'https://two', 'https://[fd00::3]:6443'];

test('connections go to the server that answered last, and to the next one when it is away', async () => {
  const asked: string[] = [];
  let away = new Set(['one']);
  const open = async ({ host, port }: { readonly host: string; readonly port: number }): Promise<Socket> => {
    asked.push(`${host} ${port}`);
    if (away.has(host)) throw new Error('away');
    return new Socket();
  };
  const connect = createLivingServer({ servers: SERVERS, clock, open });
  await connect();
  await connect();
  away = new Set(['two', 'fd00::3']);
  await connect();
  assert.deepEqual(asked, ['one 6443', 'two 443', 'two 443', 'two 443', 'fd00::3 6443', 'one 6443']);
  away.add('one');
  await assert.rejects(connect(), /no API server accepts connections/);
});

test('a port without a server is passed over', async () => {
  const server = createServer();
  const port = await listen(server);
  const gone = createServer();
  const closed = await listen(gone);
  await new Promise((resolve) => gone.close(resolve));
  try {
    const servers = [`https://127.0.0.1:${closed}`, `https://127.0.0.1:${port}`];
    const socket = await createLivingServer({ servers, clock })();
    assert.equal(socket.remotePort, port);
    socket.destroy();
  } finally {
    server.close();
  }
});

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      assert.ok(typeof address === 'object' && address !== null);
      resolve(address.port);
    });
  });
}
