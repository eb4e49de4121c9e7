import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Container } from '@holdfast/api';
import { createSilentLog, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { ContainerRuntime } from '../runtime/port.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';
import { applyStop, type ContainerManager } from './container-stop.ts';

const HOOKED: Container = {
  name: 'main',
  image: 'i',
  resources: {},
  lifecycle: { preStop: { exec: { command: ['user-hook'] } } },
};

/** Stops one container and records its events in order. */
function stopping(
  preStopContainer: ContainerManager['preStopContainer'] | undefined,
  { hookMs = 0, graceSeconds = 30, container = HOOKED, waits = false } = {},
) {
  const clock = createVirtualClock();
  const happened: string[] = [];
  const at = (what: string): void => void happened.push(`${clock.monotonic() / 1000} ${what}`);
  const runtime = {
    exec: async (_id: string, command: readonly string[]) => {
      at(command.join(' '));
      if (hookMs > 0) await clock.sleep(hookMs);
      return { exitCode: 0, output: '' };
    },
    stopContainer: async (_id: string, graceMs: number) => at(`stop ${graceMs / 1000}`),
  } as unknown as ContainerRuntime;
  const network = { httpGet: assert.fail, connect: assert.fail, grpcHealth: assert.fail } as never;
  const containerManager =
    preStopContainer === undefined
      ? undefined
      : {
          preStopContainer: (id: string) => {
            at(`internal ${id}`);
            return preStopContainer(id);
          },
        };
  const deps = {
    runtime,
    clock,
    network,
    containerManager,
    log: createSilentLog(),
    onHookFailure: at,
    onHttpFallback: at,
  };
  const task = applyStop(deps, { id: 'c1', graceSeconds, container, podIp: '', waits });
  const outcome = { error: undefined as unknown, isDone: false };
  task.done.then(
    () => {
      outcome.isDone = true;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  return { clock, happened, task, outcome };
}

test('[TERM-26] the hook of the node runs before that of the user, and uses none of the grace period', async () => {
  const free = Promise.withResolvers<void>();
  const { clock, happened, outcome } = stopping(() => free.promise);
  await clock.advance(5_000);
  assert.deepEqual(happened, ['0 internal c1'], 'nothing else happens meanwhile');
  free.resolve();
  await clock.advance(1_000);
  assert.deepEqual(happened, ['0 internal c1', '5 user-hook', '5 stop 30']);
  assert.ok(outcome.isDone);
});

test('[TERM-27] the hook of the user runs only when it exists and some grace period is left', async () => {
  const { lifecycle: _hook, ...plain } = HOOKED;
  const runs = async (graceSeconds: number, container: Container): Promise<readonly string[]> => {
    const { clock, happened, outcome } = stopping(undefined, { graceSeconds, container });
    await clock.advance(1_000);
    assert.ok(outcome.isDone);
    return happened;
  };
  assert.deepEqual(await runs(1, HOOKED), ['0 user-hook', '0 stop 2']);
  assert.deepEqual(await runs(0, HOOKED), ['0 stop 2'], 'no grace, no hook; a process gets two seconds');
  assert.deepEqual(await runs(30, plain), ['0 stop 30']);
});

test('[TERM-26] an error of the node hook ends the stop with that error: no user hook, no signal', async () => {
  const error = new Error('the devices are still in use');
  const { clock, happened, outcome } = stopping(() => Promise.reject(error));
  await clock.advance(60_000);
  assert.equal(outcome.error, error);
  assert.deepEqual(happened, ['0 internal c1']);
});

test('[TERM-26] a node hook that hangs fails at its deadline', async () => {
  const { clock, happened, outcome } = stopping(() => new Promise(() => {}));
  await clock.advance(29_000);
  assert.equal(outcome.error, undefined);
  await clock.advance(2_000);
  assert.match(String(outcome.error), /did not end in 30000 ms/);
  assert.deepEqual(happened, ['0 internal c1']);
});

test('[TERM-26] a shorter grace period requested meanwhile limits the hook of the user, not that of the node', async () => {
  const free = Promise.withResolvers<void>();
  const { clock, happened, task } = stopping(() => free.promise, { hookMs: 3_000 });
  await clock.advance(1_000);
  task.shorten(5);
  await clock.advance(9_000);
  free.resolve();
  await clock.advance(4_000);
  assert.deepEqual(happened, ['0 internal c1', '10 user-hook', '13 stop 2']);
});

test('[SIDE-09] [TERM-28] the hook of a container that waits runs at once; its signal follows its turn, with what is left', async () => {
  const early = stopping(undefined, { hookMs: 3_000, waits: true });
  await early.clock.advance(10_000);
  assert.deepEqual(early.happened, ['0 user-hook']);
  early.task.mayTerminate();
  await early.clock.advance(0);
  assert.deepEqual(early.happened, ['0 user-hook', '10 stop 20']);
  const late = stopping(undefined, { hookMs: 15_000, waits: true });
  await late.clock.advance(4_000);
  late.task.mayTerminate();
  await late.clock.advance(20_000);
  assert.deepEqual(late.happened, ['0 user-hook', '15 stop 15'], 'a turn does not end a hook');
});

test('[SIDE-09] [TERM-37] a shorter grace period does not signal a container that waits', async () => {
  const { clock, happened, task } = stopping(undefined, { hookMs: 3_000, waits: true });
  await clock.advance(4_000);
  task.shorten(10);
  await clock.advance(6_000);
  assert.deepEqual(happened, ['0 user-hook']);
  task.mayTerminate();
  await clock.advance(0);
  assert.deepEqual(happened, ['0 user-hook', '10 stop 4']);
});

test('[SIDE-09] a container whose turn has not come is signalled when the grace is over, also a shortened one', async () => {
  const { clock, happened, task } = stopping(undefined, { hookMs: 3_000, waits: true });
  await clock.advance(4_000);
  task.shorten(10);
  await clock.advance(9_999);
  assert.deepEqual(happened, ['0 user-hook']);
  await clock.advance(1);
  assert.deepEqual(happened, ['0 user-hook', '14 stop 2']);
});

test('a stop that waits ends without a signal when it is abandoned', async () => {
  const { clock, happened, task, outcome } = stopping(undefined, { hookMs: 3_000, waits: true });
  await clock.advance(1_000);
  task.abandon();
  await clock.advance(60_000);
  assert.deepEqual([happened, outcome.isDone], [['0 user-hook'], true]);
});

test('a node without a hook stops containers at once', async () => {
  const { clock, happened } = stopping(undefined);
  await clock.advance(1_000);
  assert.deepEqual(happened, ['0 user-hook', '0 stop 30']);
});

test('[SAFE-12] [TERM-26] [TERM-31] a pod whose stop was blocked by the node is stopped again until it ends', async (t: TestContext) => {
  let refusals = 2;
  const asked: string[] = [];
  const containerManager = {
    preStopContainer: async (id: string) => {
      asked.push(id);
      if (refusals-- > 0) throw new Error('not yet');
    },
  };
  const pod = new VirtualPod({ containers: [app('main')] }, {}, { containerManager });
  t.after(() => pod.stop());
  await pod.run(5);
  pod.remove(30);
  await pod.run(4);
  assert.deepEqual([asked.length, pod.stops, pod.isGone], [1, [], false]);
  await pod.run(60);
  assert.ok(asked.length === 3 && new Set(asked).size === 1);
  assert.ok(pod.isGone, 'the third time nothing kept it');
});

test('[TERM-29] [TERM-31] a stop and its shortened repetition that both fail reject once, for every caller of the stop', async () => {
  const clock = createVirtualClock();
  const calls: PromiseWithResolvers<void>[] = [];
  const runtime = {
    stopContainer: () => {
      const call = Promise.withResolvers<void>();
      calls.push(call);
      return call.promise;
    },
  } as unknown as ContainerRuntime;
  const network = { httpGet: assert.fail, connect: assert.fail, grpcHealth: assert.fail } as never;
  const deps = {
    runtime,
    clock,
    network,
    log: createSilentLog(),
    onHookFailure: assert.fail,
    onHttpFallback: assert.fail,
  };
  const task = applyStop(deps, { id: 'c1', graceSeconds: 30, container: undefined, podIp: '', waits: false });
  const outcome = task.done.catch((error: unknown) => error);
  await clock.advance(1_000);
  task.shorten(1);
  const gone = new Error('the runtime has gone away');
  for (const call of calls) call.reject(gone);
  assert.deepEqual([calls.length, await outcome], [2, gone]);
  // An unhandled rejection is reported in the next turn of the process, and fails this test.
  await nextTurn();
  await nextTurn();
});
