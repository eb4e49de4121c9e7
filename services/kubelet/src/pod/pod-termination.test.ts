import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, LifecycleHandler } from '@holdfast/api';
import fc from 'fast-check';
import type { ProbeNetwork } from '../container/probe-network.ts';
import { PlainAnswerError } from '../domain/plain-answer-error.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';

const exec = (...command: string[]): LifecycleHandler => ({ exec: { command } });
const withHook = (preStop: LifecycleHandler, command = ['ignore-stop']): { containers: Container[] } => ({
  containers: [app('main', { command, lifecycle: { preStop } })],
});

test('[EXP-18] [SAFE-06] [TERM-07] [TERM-28] [LIFE-19] [PREEMPT-07] TERM follows the hook, with the remaining grace period; KILL ends the container', async () => {
  const pod = await new VirtualPod(withHook(exec('sleep', '10'))).run(5);
  pod.remove(30);
  await pod.run(1);
  assert.deepEqual(pod.commands, [{ command: 'sleep 10', at: 5 }]);
  assert.deepEqual(pod.stops, [], 'the hook runs');
  assert.ok(pod.container('main').state.running !== undefined);
  await pod.run(60);
  assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 20, at: 15 }]);
  assert.deepEqual(pod.ended, [{ container: 'main', at: 35 }]);
  assert.deepEqual([pod.isGone, pod.status.phase], [true, 'Failed']);
  await pod.stop();
});

test('[EXP-18] [SAFE-06] [TERM-08] [TERM-19] [TERM-28] a hanging hook gets the grace period, the container two seconds more, and nothing runs twice', async () => {
  const pod = await new VirtualPod(withHook(exec('sleep', '9000'))).run(5);
  pod.remove(30);
  await pod.run(100);
  assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 2, at: 35 }]);
  assert.deepEqual(pod.ended, [{ container: 'main', at: 37 }]);
  assert.equal(pod.commands.length, 1);
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[TERM-08] a hook that ends within the two extra seconds has not failed', async () => {
  for (const [hookSeconds, failures] of [
    ['31', 0],
    ['33', 1],
  ] as const) {
    const pod = await new VirtualPod(withHook(exec('sleep', hookSeconds))).run(5);
    pod.remove(30);
    await pod.run(100);
    assert.equal(pod.said('FailedPreStopHook').length, failures, `${hookSeconds} s`);
    await pod.stop();
  }
});

test('[TERM-19] a running hook is not repeated when a shorter grace period is requested', async () => {
  const pod = await new VirtualPod(withHook(exec('sleep', '10'))).run(5);
  pod.remove(60);
  await pod.run(3);
  pod.remove(20);
  await pod.run(100);
  assert.equal(pod.commands.length, 1);
  assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 13, at: 15 }]);
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[TERM-14] [TERM-19] a failed hook is reported, and the container is stopped anyway', async () => {
  const pod = await new VirtualPod(withHook(exec('exit-after', '1', '3'), ['stop-after', '2'])).run(5);
  pod.remove(30);
  await pod.run(60);
  assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 29, at: 6 }]);
  const [event] = pod.said('FailedPreStopHook');
  assert.deepEqual([event?.type, event?.fieldPath], ['Warning', 'spec.containers{main}']);
  assert.equal(event?.message, 'PreStopHook failed', 'its output may be secret');
  assert.deepEqual(pod.logged, ["preStop hook failed: command 'exit-after 1 3' exited with 3: "]);
  assert.deepEqual([pod.isGone, pod.status.phase], [true, 'Succeeded']);
  await pod.stop();
});

test('[LIFE-19] a preStop hook over HTTPS whose server speaks HTTP has succeeded, and an event says so', async () => {
  const network: Partial<ProbeNetwork> = {
    httpGet: ({ url }) =>
      url.startsWith('https:') ? Promise.reject(new PlainAnswerError('no TLS')) : Promise.resolve({ status: 200 }),
  };
  const pod = await new VirtualPod(withHook({ httpGet: { port: 8443, scheme: 'HTTPS' } }), network).run(5);
  pod.remove(10);
  await pod.run(30);
  assert.deepEqual([pod.said('FailedPreStopHook'), pod.said('LifecycleHTTPFallback').length], [[], 1]);
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[TERM-02] [TERM-31] all containers are stopped at once, and the event precedes the hook', async () => {
  const slow = { command: ['stop-after', '2'] };
  const containers = [app('a', slow), app('b', slow), app('c', { lifecycle: { preStop: exec('sleep', '3') } })];
  const pod = await new VirtualPod({ containers }).run(5);
  pod.remove(30);
  await pod.run(1);
  assert.deepEqual(
    pod.said('Killing').map(({ at, message }) => [at, message]),
    ['a', 'b', 'c'].map((name) => [5, `Stopping container ${name}`]),
  );
  assert.deepEqual(pod.stops.map(({ container }) => container).toSorted(), ['a', 'b']);
  await pod.run(30);
  assert.deepEqual(pod.stops.at(-1), { container: 'c', graceSeconds: 27, at: 8 });
  await pod.stop();
});

test('[TERM-13] [TERM-14] [TERM-15] a process that ignores TERM is killed after the grace period; then the status is written, then the object is removed', async () => {
  const pod = await new VirtualPod({ containers: [app('deaf', { command: ['ignore-stop'] }), app('good')] }).run(5);
  pod.remove(10);
  await pod.run(9);
  assert.deepEqual([pod.isGone, pod.ended], [false, [{ container: 'good', at: 5 }]]);
  await pod.run(2);
  assert.deepEqual(pod.ended.at(-1), { container: 'deaf', at: 15 });
  assert.ok(pod.isGone);
  const { phase, containerStatuses = [] } = pod.status;
  assert.equal(phase, 'Failed');
  assert.deepEqual(
    containerStatuses.map(({ state }) => state.terminated?.exitCode),
    [137, 143],
  );
  assert.deepEqual(await pod.machine.list(), []);
  await pod.stop();
});

test('[TERM-37] [TERM-43] a later, shorter request shortens the running termination; a longer one changes nothing', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: ['ignore-stop'] })] }).run(5);
  pod.remove(60);
  await pod.run(5);
  pod.remove(300);
  await pod.run(5);
  pod.remove(20);
  await pod.run(60);
  assert.deepEqual(
    pod.stops.map(({ graceSeconds }) => graceSeconds),
    [60, 20],
  );
  assert.deepEqual(pod.ended, [{ container: 'main', at: 35 }]);
  await pod.stop();
});

test('[TERM-18] a pod whose object is gone gets two seconds and no hook', async () => {
  const pod = await new VirtualPod({ ...withHook(exec('sleep', '10')), terminationGracePeriodSeconds: 600 }).run(5);
  pod.vanish();
  await pod.run(30);
  assert.deepEqual([pod.commands, pod.ended], [[], [{ container: 'main', at: 7 }]]);
  await pod.stop();
});

test('[TERM-04] a kubelet restarted during a termination restarts the termination', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: ['ignore-stop'] })] }).run(5);
  pod.remove(30);
  await pod.run(20);
  await pod.restartKubelet();
  await pod.run(60);
  assert.deepEqual(
    pod.stops.map(({ graceSeconds, at }) => [graceSeconds, at]),
    [
      [30, 5],
      [30, 25],
    ],
  );
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[TEST-05] a kubelet that dies at any moment of a start or a termination starts nothing twice, and completes the termination', async () => {
  for (let moment = 0; moment <= 12; moment++) {
    const setup = app('setup', { command: ['exit-after', '4', '0'] });
    const main = app('main', { command: ['ignore-stop'], lifecycle: { preStop: exec('sleep', '4') } });
    const pod = await new VirtualPod({ initContainers: [setup], containers: [main] }).run(moment);
    await pod.restartKubelet();
    await pod.run(20);
    pod.remove(8);
    await pod.run(moment);
    if (!pod.isGone) await pod.restartKubelet();
    const where = `killed after ${moment} s`;
    for (let second = 0; second < 60; second++) {
      await pod.run(1);
      const isRunning = pod.began.length > pod.ended.length;
      assert.ok(!pod.isGone || !isRunning, `${where}: the object goes after the processes`);
    }
    assert.deepEqual(
      [pod.began, pod.ended].map((facts) => facts.map(({ container }) => container)),
      [
        ['setup', 'main'],
        ['setup', 'main'],
      ],
      where,
    );
    assert.ok(pod.isGone, where);
    await pod.stop();
  }
});

test('[TERM-20] [TERM-30] a container killed for a probe has its own grace period; one that terminates with its pod has that of the pod', async () => {
  const livenessProbe = { exec: { command: ['exit-after', '0', '1'] }, periodSeconds: 1, failureThreshold: 1 };
  const main = app('main', {
    command: ['ignore-stop'],
    livenessProbe: { ...livenessProbe, terminationGracePeriodSeconds: 7 },
  });
  const pod = await new VirtualPod({ containers: [main], terminationGracePeriodSeconds: 40 }).run(1);
  assert.deepEqual(
    pod.stops.map(({ graceSeconds }) => graceSeconds),
    [7],
  );
  pod.remove(5);
  await pod.run(60);
  assert.ok(pod.isGone);
  assert.deepEqual(pod.ended.at(-1), { container: 'main', at: 6 });
  await pod.stop();
});

test('[SIDE-09] sidecars end after the apps, in reverse order, within one budget', async () => {
  const sidecar = (name: string): Container => app(name, { restartPolicy: 'Always', command: ['stop-after', '3'] });
  const pod = await new VirtualPod({
    initContainers: [sidecar('first'), sidecar('second')],
    containers: [app('main', { command: ['stop-after', '4'] })],
  }).run(5);
  pod.remove(30);
  await pod.run(60);
  assert.deepEqual(pod.stops, [
    { container: 'main', graceSeconds: 30, at: 5 },
    { container: 'second', graceSeconds: 26, at: 9 },
    { container: 'first', graceSeconds: 23, at: 12 },
  ]);
  await pod.stop();
});

const drained = (name: string, hookSeconds: number, command: string[]): Container =>
  app(name, { restartPolicy: 'Always', command, lifecycle: { preStop: exec('sleep', String(hookSeconds)) } });

test('[SIDE-09] [TERM-07] the hook of a sidecar begins with the termination, its signal follows the apps', async () => {
  const pod = await new VirtualPod({
    initContainers: [drained('first', 1, ['stop-after', '3']), drained('second', 15, ['stop-after', '2'])],
    containers: [app('main', { command: ['ignore-stop'] })],
  }).run(5);
  pod.remove(20);
  await pod.run(60);
  assert.deepEqual(pod.commands, [
    { command: 'sleep 1', at: 5 },
    { command: 'sleep 15', at: 5 },
  ]);
  assert.deepEqual(pod.stops, [
    { container: 'main', graceSeconds: 20, at: 5 },
    { container: 'second', graceSeconds: 2, at: 25 },
    { container: 'first', graceSeconds: 2, at: 25 },
  ]);
  assert.deepEqual(
    pod.said('Killing').map(({ at }) => at),
    [5, 5, 5],
  );
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[SIDE-09] a hook of a sidecar that outlives the apps is waited for, as that of any container', async () => {
  const pod = await new VirtualPod({
    initContainers: [drained('proxy', 15, ['stop-after', '2'])],
    containers: [app('main', { command: ['stop-after', '4'] })],
  }).run(5);
  pod.remove(30);
  await pod.run(60);
  assert.deepEqual(pod.stops.at(-1), { container: 'proxy', graceSeconds: 15, at: 20 });
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[SIDE-09] the stop of a sidecar that ends before its turn does not wait any longer', async () => {
  const pod = await new VirtualPod({
    initContainers: [drained('proxy', 1, ['exit-after', '8', '0'])],
    containers: [app('main', { command: ['stop-after', '10'] })],
  }).run(5);
  pod.remove(30);
  await pod.run(11);
  assert.deepEqual(pod.stops, [
    { container: 'main', graceSeconds: 30, at: 5 },
    { container: 'proxy', graceSeconds: 27, at: 8 },
  ]);
  assert.deepEqual([pod.isGone, pod.ended.map(({ container }) => container)], [true, ['proxy', 'main']]);
  await pod.stop();
});

test('[SIDE-09] [TERM-04] a kubelet that starts again in a termination begins the hooks again, and keeps the order of signals', async () => {
  const pod = await new VirtualPod({
    initContainers: [drained('proxy', 3, ['stop-after', '2'])],
    containers: [app('main', { command: ['ignore-stop'] })],
  }).run(5);
  pod.remove(10);
  await pod.run(6);
  await pod.restartKubelet();
  await pod.run(60);
  assert.deepEqual(
    pod.commands.map(({ at }) => at),
    [5, 11],
  );
  assert.deepEqual(
    pod.ended.map(({ container }) => container),
    ['main', 'proxy'],
  );
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[TERM-29] [TERM-32] however long hook and process take, the container gets the remainder and at least two seconds', async () => {
  const seconds = fc.integer({ min: 0, max: 50 });
  await fc.assert(
    fc.asyncProperty(seconds, fc.integer({ min: 1, max: 40 }), seconds, async (hook, grace, process) => {
      const pod = new VirtualPod(withHook(exec('sleep', String(hook)), ['stop-after', String(process)]));
      await pod.run(1);
      pod.remove(grace);
      await pod.run(200);
      const budget = Math.max(2, grace);
      const left = Math.max(2, budget - Math.min(hook, budget));
      assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: left, at: 1 + Math.min(hook, budget) }]);
      assert.deepEqual(pod.ended, [{ container: 'main', at: 1 + Math.min(hook, budget) + Math.min(process, left) }]);
      assert.ok(pod.isGone);
      await pod.stop();
    }),
    { numRuns: 60 },
  );
});

test('[SAFE-03] no container is killed before the grace period is over, whatever its hooks do and however often the kubelet dies', async () => {
  const seconds = fc.integer({ min: 0, max: 40 });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 60 }),
      seconds,
      fc.array(seconds, { maxLength: 2 }),
      async (grace, hook, crashes) => {
        const containers = [
          app('deaf', { command: ['ignore-stop'], lifecycle: { preStop: exec('sleep', String(hook)) } }),
          app('plain', { command: ['ignore-stop'] }),
        ];
        const pod = await new VirtualPod({ containers }).run(5);
        try {
          pod.remove(grace);
          for (const after of crashes) {
            await pod.run(after);
            await pod.restartKubelet();
          }
          await pod.run(2 * grace + 200);
          const deadline = 5 + grace;
          assert.deepEqual(pod.ended.map(({ container }) => container).toSorted(), ['deaf', 'plain']);
          for (const { container, at } of pod.ended)
            assert.ok(at >= deadline, `${container} ended at ${at}, not ${deadline}`);
          assert.ok(pod.isGone);
        } finally {
          await pod.stop();
        }
      },
    ),
    { numRuns: 40 },
  );
});
