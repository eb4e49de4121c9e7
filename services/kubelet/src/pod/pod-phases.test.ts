import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '@holdfast/api';
import { app, VirtualPod } from '../testing/virtual-pod.ts';

const exits = (seconds: number, code: number): string[] => ['exit-after', String(seconds), String(code)];
const sidecar = (name: string, change: Partial<Container> = {}): Container =>
  app(name, { restartPolicy: 'Always', ...change });

test('[LIFE-20] the status has the state of every container, and its reason', async () => {
  const pod = await new VirtualPod({
    initContainers: [app('setup', { command: exits(1, 0) }), sidecar('proxy')],
    containers: [app('main', { command: exits(3, 2) }), app('other')],
    ephemeralContainers: [app('debug')],
  }).run(8);
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status;
  const told = [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].map((list) =>
    list.map(({ name, state }) => [name, Object.keys(state)[0], state.waiting?.reason ?? state.terminated?.reason]),
  );
  assert.deepEqual(told, [
    [
      ['setup', 'terminated', 'Completed'],
      ['proxy', 'running', undefined],
    ],
    [
      ['main', 'waiting', 'CrashLoopBackOff'],
      ['other', 'running', undefined],
    ],
    [['debug', 'running', undefined]],
  ]);
  await pod.stop();
});

test('[POD-27] a pod has an address, the first of its list, and no other pod has it', async () => {
  const pod = await new VirtualPod({}).run(2);
  const { podIP, podIPs = [] } = pod.status;
  assert.match(podIP ?? '', /^10\.[\d.]+$/);
  assert.deepEqual(podIPs, [{ ip: podIP }]);
  await pod.machine.runSandbox({
    podUid: 'u2',
    podName: 'q',
    podNamespace: 'default',
    hostname: 'q',
    attempt: 0,
    fencing: 'other',
  });
  const addresses = (await pod.machine.list()).map(({ ip }) => ip);
  assert.equal(new Set(addresses).size, 2);
  await pod.stop();
});

test('[LIFE-03] a main container that never started keeps its pod pending, although another one runs', async () => {
  const lifecycle = { postStart: { exec: { command: ['sleep', '30'] } } };
  const pod = await new VirtualPod({ containers: [app('main'), app('slow', { lifecycle })] }).run(5);
  assert.ok(pod.container('main').state.running !== undefined);
  assert.equal(pod.status.phase, 'Pending');
  await pod.run(30);
  assert.equal(pod.status.phase, 'Running');
  await pod.stop();
});

test('[LIFE-02] [LIFE-04] a pod whose containers have all ended and will restart is running, by its policy and their exit codes', async () => {
  for (const [restartPolicy, code, phase] of [
    ['Always', 0, 'Running'],
    ['Always', 1, 'Running'],
    ['OnFailure', 1, 'Running'],
    ['OnFailure', 0, 'Succeeded'],
    ['Never', 1, 'Failed'],
  ] as const) {
    const pod = await new VirtualPod({ restartPolicy, containers: [app('main', { command: exits(1, code) })] }).run(8);
    assert.equal(pod.container('main').state.running, undefined, 'it waits or has ended');
    assert.equal(pod.status.phase, phase, `${restartPolicy} ${code}`);
    await pod.stop();
  }
});

test('[LIFE-27] [LIFE-30] a pod with a running container that is not ready is not ready, whatever its gates', async () => {
  const conditionType = 'www.example.com/feature-1';
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  const pod = new VirtualPod(
    { readinessGates: [{ conditionType }], containers: [app('main', { readinessProbe }), app('other')] },
    { connect: () => Promise.reject(new Error('refused')) },
  );
  pod.change((object) => {
    const conditions = [{ type: conditionType, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
    return { ...object, status: { ...object.status, conditions } };
  });
  await pod.run(5);
  assert.ok(pod.container('main').state.running !== undefined);
  for (const type of ['Ready', 'ContainersReady']) {
    const { status, reason, message } = pod.condition(type) ?? {};
    const text = 'containers with unready status: [main]';
    assert.deepEqual([status, reason, message], ['False', 'ContainersNotReady', text]);
  }
  await pod.stop();
});
