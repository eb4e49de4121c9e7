import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerRuntime } from '@holdfast/kubelet';
import { createVirtualClock } from '@holdfast/platform/testing';
import { gatedRuntime } from './gated-runtime.ts';
import { makeLife } from './testing.ts';

function makeRuntime() {
  const clock = createVirtualClock();
  const { gate, life } = makeLife();
  const done: string[] = [];
  const inner = {
    runSandbox: async () => void done.push('run'),
    stopSandbox: async () => void done.push('stop'),
    exec: async () => void done.push('exec'),
  } as unknown as ContainerRuntime;
  return { clock, gate, done, runtime: gatedRuntime(inner, { ...life, clock }) };
}

test('a full disk takes nothing new; what runs goes on and can be ended', async () => {
  const { gate, done, runtime } = makeRuntime();
  const end = gate.begin({ diskFull: true });
  await assert.rejects(runtime.runSandbox({} as never), /no space left on device/);
  await runtime.exec('c' as never, [], 1);
  await runtime.stopSandbox('s' as never, 0);
  end();
  await runtime.runSandbox({} as never);
  assert.deepEqual(done, ['exec', 'stop', 'run']);
});

test('a slow disk delays what needs it', async () => {
  const { clock, gate, done, runtime } = makeRuntime();
  const end = gate.begin({ diskDelayMs: 1_000 });
  const slow = runtime.runSandbox({} as never);
  await runtime.exec('c' as never, [], 1);
  assert.deepEqual(done, ['exec']);
  await clock.advance(1_000);
  await slow;
  end();
  await runtime.runSandbox({} as never);
  assert.deepEqual(done, ['exec', 'run', 'run']);
});
