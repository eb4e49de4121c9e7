import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { freePort } from '../../support/free-port.ts';
import type { DetourSettings } from './detour-main.ts';

const PROGRAM = path.join(import.meta.dirname, 'detour-main.ts');
const clock = createSystemClock();

/** A server that repeats what it hears, and a detour to it. */
async function startDetour(effect: Partial<DetourSettings>): Promise<AsyncDisposable & { readonly port: number }> {
  const echo = net.createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const port = await freePort();
  const settings: DetourSettings = {
    listen: { host: '127.0.0.1', port },
    to: { host: '127.0.0.1', port: (echo.address() as AddressInfo).port },
    delayMs: 0,
    delays: 'both',
    isExact: true,
    lostAnswers: 0,
    ...effect,
  };
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await once(child, 'exit');
      echo.close();
    },
  };
}

/** Says each piece in turn, and resolves with what is heard until that is as much, or the end. */
async function converse(port: number, pieces: readonly string[]): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  const wanted = pieces.join('').length;
  const { promise, resolve } = Promise.withResolvers<string>();
  let heard = '';
  socket.on('data', (piece) => {
    heard += piece.toString();
    if (heard.length >= wanted) resolve(heard);
  });
  socket.on('close', () => resolve(heard)).on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  const answer = await promise;
  socket.destroy();
  return answer;
}

test('a detour delays what passes, and keeps its order', async () => {
  await using detour = await startDetour({ delayMs: 150, isExact: false });
  const pieces = Array.from({ length: 50 }, (_, i) => `${i},`);
  assert.equal(await converse(detour.port, pieces), pieces.join(''));
});

test('a detour that delays answers delays each of them by as much', async () => {
  await using detour = await startDetour({ delayMs: 200, delays: 'answers' });
  const began = clock.monotonic();
  assert.equal(await converse(detour.port, ['late']), 'late');
  assert.ok(clock.monotonic() - began >= 195);
});

test('the answer to a write is lost with its connection, the answer to a read is not', async () => {
  await using detour = await startDetour({ lostAnswers: 1 });
  assert.equal(await converse(detour.port, ['*1\r\n$3\r\nGET\r\n']), '*1\r\n$3\r\nGET\r\n');
  assert.equal(await converse(detour.port, ['*2\r\n$7\r\nEVALSHA\r\n$1\r\na\r\n']), '');
});
