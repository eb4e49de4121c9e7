import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, nextTurn as turn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { AgentConnection } from './agent-connection.ts';
import { AGENT_DIAL_DEADLINE_MS } from './limits.ts';

const PLACE = { host: '10.244.0.2', port: 80 };

/** An agent that does with each line of a connection what the test says. */
async function open(
  t: TestContext,
  serve: (socket: Socket, line: string) => void,
  onOpen: () => Promise<void> = async () => undefined,
) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-agent-'));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => serve(socket, String(chunk)));
  }).listen(join(directory, 'agent.sock'));
  await once(server, 'listening');
  const clock = createVirtualClock();
  const connection = new AgentConnection({
    directory,
    clock,
    log: createSilentLog(),
    onOpen,
    onLost: () => undefined,
  });
  t.after(() => {
    connection.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { clock, connection };
}

test('a connection that the agent does not answer fails at its deadline', async (t) => {
  let ended = false;
  const { clock, connection } = await open(t, (socket) => socket.on('close', () => (ended = true)));
  const dialled = connection.dial(PLACE);
  dialled.catch(() => undefined);
  while (clock.pendingTimers() === 0 && !t.signal.aborted) await turn();
  await clock.advance(AGENT_DIAL_DEADLINE_MS);
  await assert.rejects(dialled, /did not connect to 10\.244\.0\.2:80 in time/);
  while (!ended && !t.signal.aborted) await turn();
});

test('a connection that was made has no deadline', async (t) => {
  const { clock, connection } = await open(t, (socket) => void socket.write('{"connected":true}\nearly'));
  const socket = await connection.dial(PLACE);
  t.after(() => socket.destroy());
  assert.equal(clock.pendingTimers(), 0);
  assert.equal(String((await once(socket, 'data'))[0]), 'early');
});

test('an answer that cannot be read fails its connection and ends no process', async (t) => {
  const { connection } = await open(t, (socket) => void socket.write('nonsense\n'));
  await assert.rejects(connection.dial(PLACE), /cannot be read/);
  await assert.rejects(connection.ask({ method: 'attached' }), /ended before it answered/);
});

test('a connection whose first requests failed is made again by the next request', async (t) => {
  let opened = 0;
  const serve = (socket: Socket, line: string): void => {
    const { id } = JSON.parse(line) as { readonly id: number };
    socket.write(`${JSON.stringify({ id, result: 'there' })}\n`);
  };
  const { connection } = await open(t, serve, async () => {
    opened += 1;
    if (opened === 1) throw new Error('the address is in use');
  });
  await assert.rejects(connection.askIfThere({ method: 'attached' }), /in use/);
  assert.equal(await connection.askIfThere({ method: 'attached' }), 'there');
  assert.equal(await connection.ask({ method: 'attached' }), 'there');
  assert.equal(opened, 2);
});
