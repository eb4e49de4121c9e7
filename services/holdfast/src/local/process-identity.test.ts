import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { identityOf, isAlive, signalProcess } from './process-identity.ts';

test('a process is known by its number and its beginning; a later one of the same number gets no signal', async () => {
  const child = spawn('sleep', ['60']);
  const own = identityOf(child.pid ?? 0);
  assert.ok(own !== undefined && isAlive(own));
  const earlier = { ...own, began: `${own.began}0` };
  assert.ok(!isAlive(earlier));
  signalProcess(earlier, 'SIGKILL');
  assert.ok(isAlive(own), 'a foreign process lives on');
  const ended = once(child, 'exit');
  signalProcess(own, 'SIGKILL');
  await ended;
  assert.ok(!isAlive(own));
  signalProcess(own, 'SIGKILL');
  assert.equal(identityOf(own.pid)?.began === own.began, false);
});
