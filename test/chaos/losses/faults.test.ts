import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runningPid } from './faults.ts';

test('a signal is never sent to a container that does not run: it would reach the processes of the run', () => {
  assert.equal(runningPid('nats-1', '4711'), '4711');
  for (const pid of ['0', '', '-1', 'nothing']) assert.throws(() => runningPid('nats-1', pid), /nats-1 does not run/);
});
