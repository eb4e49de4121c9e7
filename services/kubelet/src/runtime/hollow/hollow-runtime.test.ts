import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom, createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { containerConfig, type RuntimeHarness, sandboxConfig, testContainerRuntime } from '../contract.ts';
import { testRuntimeStreams } from '../contract-streams.ts';
import { createHollowRuntime, type HollowProcessFact } from './index.ts';
import { readScript } from './script.ts';

const clock = createSystemClock();

const createHarness = async (): Promise<RuntimeHarness> => {
  const machine = createHollowRuntime({ clock, random: createSeededRandom(1, 'hollow') });
  let client = machine.connect();
  return {
    runtime: client,
    reopen: async () => {
      await client.close();
      client = machine.connect();
      return client;
    },
    dispose: () => client.close(),
  };
};

testRuntimeStreams(
  'hollow runtime',
  {
    runForever: ['stay'],
    echo: ['cat'],
    bothOutputs: ['say', 'out', 'err', '3'],
    flood: ['yes'],
    unknownCommand: ['no-such-program'],
  },
  createHarness,
);

testContainerRuntime(
  'hollow runtime',
  {
    exitAfter: (seconds, exitCode) => ['exit-after', String(seconds), String(exitCode)],
    runForever: ['stay'],
    ignoreStopSignal: ['ignore-stop'],
    imagesWithoutCommand: 'run',
  },
  createHarness,
);

test('a command whose caller no longer waits is given up', async () => {
  const time = createVirtualClock();
  const runtime = createHollowRuntime({ clock: time, random: createSeededRandom(1, 'hollow') }).connect();
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  const id = await runtime.createContainer(sandbox, containerConfig(['stay']));
  const started = runtime.startContainer(id);
  await time.advance(10_000);
  await started;
  const caller = new AbortController();
  const command = runtime.exec(id, ['sleep', '600'], 3_600_000, caller.signal);
  const outcome = command.catch((error: unknown) => error);
  await time.advance(1_000);
  const gone = new Error('the container has ended');
  caller.abort(gone);
  assert.equal(await outcome, gone);
});

test('scripts of simulated containers', () => {
  const cases: readonly [readonly string[], ReturnType<typeof readScript>][] = [
    [['exit-after', '5', '3'], { exitAfterMs: 5000, exitCode: 3, ignoresStop: false }],
    [['sleep', '5'], { exitAfterMs: 5000, exitCode: 0, ignoresStop: false }],
    [['sh', '-c', 'sleep 0.5; exit 2'], { exitAfterMs: 500, exitCode: 2, ignoresStop: false }],
    [['sleep', 'infinity'], { exitCode: 0, ignoresStop: false }],
    [['stop-after', '4'], { exitCode: 0, stopAfterMs: 4000, ignoresStop: false }],
    [['ignore-stop'], { exitCode: 0, ignoresStop: true }],
    [['nginx', '-g', 'daemon off;'], { exitCode: 0, ignoresStop: false }],
  ];
  for (const [command, script] of cases) assert.deepEqual(readScript(command, []), script, command.join(' '));
});

test('the observer gets every interval of a process, also those that a power cut ends', async () => {
  const facts: HollowProcessFact[] = [];
  const machine = createHollowRuntime({
    clock,
    random: createSeededRandom(1, 'hollow'),
    nodeName: 'n1',
    observe: (fact) => facts.push(fact),
  });
  const sandbox = await machine.runSandbox(sandboxConfig('u1'));
  await machine.startContainer(await machine.createContainer(sandbox, containerConfig(['stay'])));
  await machine.createContainer(sandbox, containerConfig(['stay'], { name: 'never-started' }));
  machine.powerOff();
  machine.powerOff();
  assert.deepEqual(
    facts.map((fact) => ({ ...fact, at: 0 })),
    ['started', 'ended'].map((kind) => ({
      kind,
      node: 'n1',
      namespace: 'default',
      podName: 'pod-u1',
      podUid: 'u1',
      container: 'main',
      at: 0,
    })),
  );
});
