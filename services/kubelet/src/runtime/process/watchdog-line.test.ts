import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { WATCHDOG_ANSWER_MS } from './limits.ts';
import { WatchdogLine } from './watchdog-line.ts';

interface Watchdog extends AsyncDisposable {
  readonly address: string;
  readonly server: Server;
  readonly sockets: Socket[];
  answer: boolean;
  asked: number;
}

async function startWatchdog(): Promise<Watchdog> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'holdfast-line-'));
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      watchdog.asked += 1;
      server.emit('asked');
      if (watchdog.answer) socket.write(chunk);
    });
  });
  const watchdog: Watchdog = {
    address: path.join(scratch, 'watchdog.sock'),
    server,
    sockets,
    answer: true,
    asked: 0,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await rm(scratch, { recursive: true });
    },
  };
  server.listen(watchdog.address);
  await once(server, 'listening');
  return watchdog;
}

test('checks of the watchdog at one time share a question, and all get its answer', async () => {
  await using watchdog = await startWatchdog();
  const line = new WatchdogLine(watchdog.address, createVirtualClock());
  assert.deepEqual(await Promise.all([line.answers(), line.answers(), line.answers()]), [true, true, true]);
  assert.deepEqual([watchdog.asked, watchdog.sockets.length], [1, 1]);
  line.close();
});

test('checks of a watchdog that stands still all fail, and the next one finds it again', async () => {
  await using watchdog = await startWatchdog();
  const clock = createVirtualClock();
  const line = new WatchdogLine(watchdog.address, clock);
  watchdog.answer = false;
  const checks = [line.answers()];
  await once(watchdog.server, 'asked');
  checks.push(line.answers());
  await clock.advance(WATCHDOG_ANSWER_MS);
  assert.deepEqual(await Promise.all(checks), [false, false]);
  watchdog.answer = true;
  assert.equal(await line.answers(), true);
  assert.equal(watchdog.sockets.length, 2);
  line.close();
});

test('nobody who listens is an answer, too', async () => {
  await using watchdog = await startWatchdog();
  const line = new WatchdogLine(`${watchdog.address}-of-nobody`, createVirtualClock());
  assert.equal(await line.answers(), false);
});
