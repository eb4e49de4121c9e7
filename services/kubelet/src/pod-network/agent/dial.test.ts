import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { dial, refuse } from './dial.ts';
import { FairPlaces } from './fair-places.ts';

const inside = { dial: () => Promise.reject(new Error('nothing listens')) };

/** Dials a server in "the pod" over connections of a socket in the file system; resolves with the first line. */
async function open(t: TestContext, places: FairPlaces) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-dial-'));
  const sockets = new Set<Socket>();
  const pod = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(pod, 'listening');
  const address = pod.address();
  assert.ok(typeof address === 'object' && address !== null);
  const agent = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const to = { host: '127.0.0.1', port: address.port };
    dial(socket, to, { namespace: undefined, inside, places, groupOf: () => '' }).catch((error: unknown) =>
      refuse(socket, error),
    );
  }).listen(join(directory, 'agent.sock'));
  await once(agent, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    for (const each of [agent, pod]) each.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return async (): Promise<{ readonly socket: Socket; readonly said: string }> => {
    const socket = connect(join(directory, 'agent.sock'));
    sockets.add(socket);
    return { socket, said: String((await once(socket, 'data'))[0]) };
  };
}

test('one pod has a bounded number of connections from outside, and another when one ends', async (t) => {
  const dialled = await open(t, new FairPlaces({ perHolder: 1, all: 10 }));
  const first = await dialled();
  assert.match(first.said, /"connected":true/);
  assert.match((await dialled()).said, /too many connections/);
  first.socket.destroy();
  while (!t.signal.aborted && !(await dialled()).said.includes('connected'));
});
