import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import { app, VirtualPod } from '../testing/virtual-pod.ts';

const exits = (seconds: number, code: number): string[] => ['exit-after', String(seconds), String(code)];
const sidecar = (name: string, change: Partial<Container> = {}): Container =>
  app(name, { restartPolicy: 'Always', ...change });
const starts = (pod: VirtualPod): readonly string[] => pod.began.map(({ container, at }) => `${container}@${at}`);

test('[POD-02] [POD-03] [INIT-01] [INIT-02] [INIT-03] [INIT-04] init containers run one by one, then all others at once, in one sandbox', async () => {
  const pod = await new VirtualPod({
    initContainers: [app('one', { command: exits(2, 0) }), app('two', { command: exits(3, 0) })],
    containers: [app('a'), app('b'), app('c')],
    ephemeralContainers: [app('debug')],
  }).run(10);
  assert.deepEqual(starts(pod), ['debug@0', 'one@0', 'two@2', 'a@5', 'b@5', 'c@5']);
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status;
  assert.deepEqual(
    [initContainerStatuses, containerStatuses, ephemeralContainerStatuses].map((list) => list.map(({ name }) => name)),
    [['one', 'two'], ['a', 'b', 'c'], ['debug']],
  );
  assert.equal((await pod.machine.list()).length, 1);
  await pod.stop();
});

test('[EXP-06] [INIT-10] [INIT-12] [LIFE-03] [LIFE-16] [LIFE-35] while a pod initialises it is pending, not initialised, not ready', async () => {
  const initContainers = [app('slow', { command: ['sleep', '60'] })];
  const pod = await new VirtualPod({ initContainers, containers: [app('main')] }).run(59);
  assert.deepEqual(
    [pod.status.phase, pod.container('main').state],
    ['Pending', { waiting: { reason: 'PodInitializing' } }],
  );
  const { status, reason, message } = pod.condition('Initialized') ?? {};
  assert.deepEqual(
    [status, reason, message],
    ['False', 'ContainersNotInitialized', 'containers with incomplete status: [slow]'],
  );
  assert.equal(pod.condition('Ready')?.status, 'False');
  await pod.run(2);
  assert.deepEqual([pod.status.phase, pod.condition('Initialized')?.status], ['Running', 'True']);
  assert.equal(pod.container('slow').state.terminated?.reason, 'Completed');
  await pod.stop();
});

test('[INIT-05] [LIFE-22] a failing init container restarts after 0, 10, 20, 40 seconds and reports why it waits', async () => {
  const pod = await new VirtualPod({ initContainers: [app('setup', { command: exits(1, 1) })] }).run(60);
  assert.deepEqual(starts(pod), ['setup@0', 'setup@1', 'setup@12', 'setup@33']);
  const { waiting } = pod.container('setup').state;
  assert.equal(waiting?.reason, 'CrashLoopBackOff');
  assert.match(waiting.message ?? '', /^back-off 40s restarting failed container=setup pod=p_default\(u1\)$/);
  const [event] = pod.said('BackOff');
  assert.deepEqual(
    [event?.type, event?.message, event?.fieldPath],
    ['Warning', 'Back-off restarting failed container setup in pod p_default(u1)', 'spec.initContainers{setup}'],
  );
  assert.equal(pod.container('main').state.waiting?.reason, 'PodInitializing');
  await pod.stop();
});

test('[EXP-04] an init container that waits for a service delays the app, then lets it start, is retried, or fails the pod', async () => {
  const waits = (seconds: number, code: number, restartPolicy: string) =>
    new VirtualPod({ restartPolicy, initContainers: [app('wait', { command: exits(seconds, code) })] });
  const found = await waits(40, 0, 'Always').run(45);
  assert.deepEqual(starts(found), ['wait@0', 'main@40']);
  const again = await waits(100, 1, 'Always').run(150);
  assert.deepEqual([starts(again), again.status.phase], [['wait@0', 'wait@100'], 'Pending']);
  const never = await waits(100, 1, 'Never').run(150);
  assert.deepEqual([starts(never), never.status.phase], [['wait@0'], 'Failed']);
  for (const pod of [found, again, never]) await pod.stop();
});

test('[INIT-07] [INIT-15] a succeeded init container does not run again: not under Always, not for another image, not after a kubelet restart', async () => {
  const pod = await new VirtualPod({
    restartPolicy: 'Always',
    initContainers: [app('setup', { command: exits(1, 0) })],
    containers: [app('main', { command: exits(5, 0) })],
  }).run(8);
  pod.change((object) => {
    const initContainers = (object.spec.initContainers ?? []).map((each) => ({ ...each, image: 'busybox:1.37' }));
    return { ...object, spec: { ...object.spec, initContainers } };
  });
  await pod.restartKubelet();
  await pod.run(60);
  assert.equal(pod.began.filter(({ container }) => container === 'setup').length, 1);
  assert.ok(pod.container('main').restartCount >= 2);
  await pod.stop();
});

test('[INIT-15] a started pod does not run its init containers again when their records are gone', async () => {
  const pod = await new VirtualPod({ initContainers: [app('setup', { command: exits(1, 0) })] }).run(5);
  const containers = (await pod.machine.list()).flatMap((sandbox) => sandbox.containers);
  const setup = containers.find(({ config }) => config.name === 'setup') ?? assert.fail('there is a record');
  await pod.machine.removeContainer(setup.id);
  await pod.restartKubelet();
  await pod.run(60);
  assert.deepEqual(starts(pod), ['setup@0', 'main@1']);
  assert.deepEqual([pod.status.phase, pod.condition('Initialized')?.status], ['Running', 'True']);
  await pod.stop();
});

test('[INIT-03] [INIT-13] [INIT-16] [LIFE-33] a rebooted machine runs the init containers again, in a new sandbox', async () => {
  const pod = await new VirtualPod({ initContainers: [app('setup', { command: exits(1, 0) })] }).run(5);
  assert.equal(pod.condition('PodReadyToStartContainers')?.status, 'True');
  pod.machine.powerOff();
  await pod.restartKubelet();
  await pod.run(5);
  assert.deepEqual(starts(pod), ['setup@0', 'main@1', 'setup@5', 'main@6']);
  assert.equal(pod.container('main').restartCount, 1);
  await pod.stop();
});

test('[INIT-02] [INIT-06] a failed init container prevents the start of all later containers', async () => {
  for (const restartPolicy of ['Always', 'OnFailure', 'Never']) {
    const initContainers = [app('one', { command: exits(1, 1) }), app('two', { command: exits(1, 0) })];
    const pod = await new VirtualPod({ restartPolicy, initContainers }).run(30);
    assert.deepEqual([...new Set(pod.began.map(({ container }) => container))], ['one'], restartPolicy);
    assert.equal(pod.status.phase, restartPolicy === 'Never' ? 'Failed' : 'Pending');
    await pod.stop();
  }
});

test('[INIT-07] under every policy an init container that succeeded is not run again', async () => {
  for (const restartPolicy of ['Always', 'OnFailure', 'Never']) {
    const initContainers = [app('one', { command: exits(1, 0) }), app('two', { command: exits(20, 0) })];
    const pod = await new VirtualPod({ restartPolicy, initContainers }).run(15);
    assert.deepEqual(starts(pod), ['one@0', 'two@1'], restartPolicy);
    await pod.stop();
  }
});

test('[INIT-17] [LIFE-37] a deadline counts from the start of the pod, ends init containers that never succeed, and running containers', async () => {
  const failing = { initContainers: [app('setup', { command: exits(1, 1) })], activeDeadlineSeconds: 100 };
  const stuck = await new VirtualPod(failing).run(99);
  assert.equal(stuck.status.phase, 'Pending');
  await stuck.run(3);
  assert.deepEqual([stuck.status.phase, stuck.status.reason], ['Failed', 'DeadlineExceeded']);
  await stuck.stop();
  const initContainers = [app('setup', { command: exits(60, 0) })];
  const pod = await new VirtualPod({ initContainers, activeDeadlineSeconds: 100 }).run(101);
  const { phase, reason, message } = pod.status;
  assert.deepEqual(
    [phase, reason, message],
    ['Failed', 'DeadlineExceeded', 'Pod was active on the node longer than the specified deadline'],
  );
  assert.deepEqual(pod.ended.at(-1), { container: 'main', at: 100 });
  assert.equal(pod.said('DeadlineExceeded').length, 1);
  await pod.stop();
});

test('[SIDE-01] [SIDE-04] [SIDE-05] [SIDE-06] the next init container begins when the sidecar has started, not when it ends', async () => {
  let isUp = false;
  const startupProbe = { tcpSocket: { port: 80 }, periodSeconds: 1, failureThreshold: 100 };
  const pod = new VirtualPod(
    {
      initContainers: [
        app('first', { command: exits(1, 0) }),
        sidecar('proxy', { startupProbe }),
        app('last', { command: exits(2, 0) }),
      ],
    },
    { connect: () => (isUp ? Promise.resolve() : Promise.reject(new Error('refused'))) },
  );
  await pod.run(10.5);
  assert.deepEqual(starts(pod), ['first@0', 'proxy@1']);
  assert.equal(pod.container('proxy').started, false);
  isUp = true;
  await pod.run(10);
  assert.deepEqual(starts(pod), ['first@0', 'proxy@1', 'last@11', 'main@13']);
  assert.deepEqual([pod.condition('Initialized')?.status, pod.container('proxy').started], ['True', true]);
  await pod.stop();
});

test('[SIDE-05] [LIFE-35] a pod is initialised when its sidecars have started, ready or not, before its main containers run', async () => {
  const refused = () => Promise.reject(new Error('refused'));
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  const lifecycle = { postStart: { exec: { command: ['sleep', '30'] } } };
  const pod = await new VirtualPod(
    { initContainers: [sidecar('proxy', { readinessProbe })], containers: [app('main', { lifecycle })] },
    { connect: refused },
  ).run(5);
  assert.deepEqual([pod.container('proxy').started, pod.container('proxy').ready], [true, false]);
  assert.equal(pod.container('main').state.running, undefined);
  assert.deepEqual([pod.status.phase, pod.condition('Initialized')?.status], ['Pending', 'True']);
  await pod.stop();
});

test('[SIDE-06] without a startup probe a sidecar counts as started only while its process runs', async () => {
  const pod = await new VirtualPod({ initContainers: [sidecar('proxy', { command: exits(5, 1) })] }).run(2);
  assert.equal(pod.container('proxy').started, true);
  await pod.run(10);
  assert.equal(pod.container('proxy').state.waiting?.reason, 'CrashLoopBackOff');
  assert.equal(pod.container('proxy').started, false);
  await pod.stop();
});

test('[SIDE-02] [SIDE-03] [SIDE-10] a sidecar that is not ready makes its pod not ready', async () => {
  let isUp = true;
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 1, failureThreshold: 1 };
  const pod = new VirtualPod(
    { initContainers: [sidecar('proxy', { readinessProbe })] },
    { connect: () => (isUp ? Promise.resolve() : Promise.reject(new Error('refused'))) },
  );
  await pod.run(3);
  assert.deepEqual([pod.condition('Ready')?.status, pod.container('proxy').ready], ['True', true]);
  isUp = false;
  await pod.run(3);
  const { status, message } = pod.condition('Ready') ?? {};
  assert.deepEqual([status, message], ['False', 'containers with unready status: [proxy]']);
  assert.deepEqual(pod.stops, []);
  await pod.stop();
});

test('[SIDE-10] a new image of a sidecar restarts only that container, also under Never and after a kubelet restart', async () => {
  for (const isRestarted of [false, true]) {
    const pod = await new VirtualPod({
      restartPolicy: 'Never',
      initContainers: [app('setup', { command: exits(1, 0) }), sidecar('proxy')],
      containers: [app('main')],
    }).run(5);
    pod.change((object) => {
      const initContainers = (object.spec.initContainers ?? []).map((each) => ({ ...each, image: 'busybox:1.37' }));
      return { ...object, spec: { ...object.spec, initContainers } };
    });
    if (isRestarted) await pod.restartKubelet();
    await pod.run(60);
    assert.deepEqual(
      pod.stops.map(({ container, graceSeconds }) => [container, graceSeconds]),
      [['proxy', 30]],
    );
    assert.deepEqual(
      pod.began.map(({ container }) => container),
      ['setup', 'proxy', 'main', 'proxy'],
    );
    const { restartCount, image } = pod.container('proxy');
    assert.deepEqual([restartCount, image, pod.container('main').restartCount], [1, 'busybox:1.37', 0]);
    assert.equal(pod.said('Killing')[0]?.message, 'Container proxy definition changed, will be restarted');
    await pod.stop();
  }
});

const withImage = (object: Pod, image: string): Pod => {
  const containers = object.spec.containers.map((each) => (each.name === 'main' ? { ...each, image } : each));
  return { ...object, spec: { ...object.spec, containers } };
};

test('[POD-22] a new image of a running main container restarts only that container, under every restart policy', async () => {
  for (const restartPolicy of ['Always', 'OnFailure', 'Never'] as const) {
    for (const names of [['main', 'other'], ['main']]) {
      for (const command of [undefined, ['ignore-stop']]) {
        const containers = names.map((name) => app(name, command === undefined ? {} : { command }));
        const pod = await new VirtualPod({ restartPolicy, containers }).run(5);
        pod.change((object) => withImage(object, 'busybox:1.37'));
        await pod.run(60);
        const what = `${restartPolicy} ${names.join(' ')} ${command?.join(' ')}`;
        const restarts = names.map((name) => pod.container(name).restartCount);
        assert.deepEqual(restarts, names.length === 1 ? [1] : [1, 0], what);
        assert.deepEqual([pod.container('main').image, pod.status.phase], ['busybox:1.37', 'Running'], what);
        assert.equal(pod.said('Killing')[0]?.message, 'Container main definition changed, will be restarted');
        await pod.stop();
      }
    }
  }
});

test('[POD-22] a new image does not start a container that the restart policy leaves terminated', async () => {
  for (const [restartPolicy, code, phase] of [
    ['Never', 1, 'Failed'],
    ['OnFailure', 0, 'Succeeded'],
  ] as const) {
    const containers = [app('main', { command: exits(2, code) }), app('other', { command: exits(20, code) })];
    const pod = await new VirtualPod({ restartPolicy, containers }).run(5);
    pod.change((object) => withImage(object, 'busybox:1.37'));
    await pod.run(60);
    assert.deepEqual([pod.container('main').restartCount, pod.status.phase], [0, phase], restartPolicy);
    assert.equal(pod.began.filter(({ container }) => container === 'main').length, 1, restartPolicy);
    await pod.stop();
  }
});

test('[POD-22] a replaced container that ends by itself afterwards stays terminated under Never', async () => {
  const pod = await new VirtualPod({ restartPolicy: 'Never', containers: [app('main')] }).run(5);
  pod.change((object) => {
    const { spec } = withImage(object, 'busybox:1.37');
    const containers = spec.containers.map((each) => ({ ...each, command: exits(10, 0) }));
    return { ...object, spec: { ...spec, containers } };
  });
  await pod.run(60);
  assert.deepEqual([pod.container('main').restartCount, pod.status.phase], [1, 'Succeeded']);
  await pod.stop();
});

test('[EXP-13] [SIDE-07] [SIDE-01] a sidecar restarts under any policy of its pod, with back-off; the pod keeps running', async () => {
  const pod = await new VirtualPod({
    restartPolicy: 'Never',
    initContainers: [sidecar('proxy', { command: exits(1, 0) })],
  }).run(40);
  assert.deepEqual(
    pod.began.filter(({ container }) => container === 'proxy').map(({ at }) => at),
    [0, 1, 12, 33],
  );
  assert.equal(pod.status.phase, 'Running');
  assert.deepEqual(
    pod.began.filter(({ container }) => container === 'main').map(({ at }) => at),
    [0],
  );
  await pod.stop();
});

test('[EXP-13] [SIDE-08] [LIFE-05] a pod completes although its sidecar runs, and ends it whatever its exit code', async () => {
  const pod = await new VirtualPod({
    restartPolicy: 'Never',
    initContainers: [sidecar('logshipper', { command: ['ignore-stop'] })],
    containers: [app('myjob', { command: exits(5, 0) })],
  }).run(60);
  assert.deepEqual(pod.stops, [{ container: 'logshipper', graceSeconds: 30, at: 5 }]);
  assert.equal(pod.status.phase, 'Succeeded');
  assert.equal(pod.container('logshipper').state.terminated?.exitCode, 137);
  await pod.stop();
});

test('[EXP-13] the pod of the example succeeds although its sidecar constantly ends and restarts', async () => {
  const pod = await new VirtualPod({
    restartPolicy: 'Never',
    initContainers: [sidecar('logshipper', { command: exits(2, 1) })],
    containers: [app('myjob', { command: exits(30, 0) })],
  }).run(60);
  assert.ok(pod.container('logshipper').restartCount >= 1);
  assert.deepEqual([pod.status.phase, pod.container('myjob').restartCount], ['Succeeded', 0]);
  await pod.stop();
});

test('[LIFE-01] [LIFE-05] [LIFE-06] [LIFE-18] the exit codes of the containers decide the phase of a pod that may run once', async () => {
  for (const [code, phase, reason] of [
    [0, 'Succeeded', 'Completed'],
    [3, 'Failed', 'Error'],
  ] as const) {
    const containers = [app('good', { command: exits(2, 0) }), app('main', { command: exits(4, code) })];
    const pod = await new VirtualPod({ restartPolicy: 'Never', containers }).run(3);
    assert.equal(pod.status.phase, 'Running');
    await pod.run(3);
    assert.equal(pod.status.phase, phase);
    const { terminated } = pod.container('main').state;
    assert.deepEqual([terminated?.exitCode, terminated?.reason], [code, reason]);
    assert.deepEqual([terminated?.startedAt, terminated?.finishedAt], ['2026-01-01T00:00:00Z', '2026-01-01T00:00:04Z']);
    await pod.stop();
  }
});

test('[LIFE-01] a pod is pending until the first of its main containers runs, however many init containers ran', async () => {
  const initContainers = [sidecar('proxy'), app('setup', { command: exits(5, 0) })];
  const pod = await new VirtualPod({ initContainers, containers: [app('main'), app('other')] }).run(4);
  assert.equal(pod.status.phase, 'Pending');
  await pod.run(2);
  assert.equal(pod.status.phase, 'Running');
  const phases = pod.statuses.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1]);
  assert.deepEqual(phases, ['Pending', 'Running']);
  await pod.stop();
});

test('[LIFE-15] in every written status each container is exactly one of waiting, running and terminated', async () => {
  const initContainers = [app('setup', { command: exits(2, 0) }), sidecar('proxy')];
  const containers = [app('main', { command: exits(3, 1) }), app('other')];
  const pod = await new VirtualPod({ initContainers, containers }).run(60);
  pod.remove(5);
  await pod.run(30);
  const seen = new Set<string>();
  for (const { containerStatuses = [], initContainerStatuses = [] } of pod.statuses) {
    for (const { state } of [...containerStatuses, ...initContainerStatuses]) {
      assert.equal(Object.keys(state).length, 1, JSON.stringify(state));
      seen.add(String(Object.keys(state)[0]));
    }
  }
  assert.deepEqual([...seen].toSorted(), ['running', 'terminated', 'waiting']);
  await pod.stop();
});

test('[EXP-12] the sidecar of the example starts before the main container', async () => {
  const volumeMounts = [{ name: 'data', mountPath: '/opt' }];
  const pod = await new VirtualPod({
    volumes: [{ name: 'data', emptyDir: {} }],
    initContainers: [sidecar('logshipper', { volumeMounts })],
    containers: [app('myapp', { volumeMounts })],
  }).run(5);
  assert.deepEqual(starts(pod), ['logshipper@0', 'myapp@0']);
  assert.equal(pod.status.phase, 'Running');
  await pod.stop();
});

test('[LIFE-24] a restart increments the count, keeps the last termination, and the first one is immediate', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: exits(3, 7) })] }).run(4);
  const { restartCount, lastState, state } = pod.container('main');
  assert.deepEqual([restartCount, lastState.terminated?.exitCode], [1, 7]);
  assert.equal(state.running?.startedAt, '2026-01-01T00:00:03Z');
  await pod.stop();
});

test('[LIFE-17] a container is running when its postStart hook has finished; one whose hook fails is killed and restarted', async () => {
  const hook = (command: string[]): Partial<Container> => ({ lifecycle: { postStart: { exec: { command } } } });
  const pod = await new VirtualPod({ containers: [app('main', hook(['sleep', '5']))] }).run(4);
  assert.deepEqual([pod.status.phase, pod.container('main').state.waiting?.reason], ['Pending', 'ContainerCreating']);
  await pod.run(2);
  assert.deepEqual(pod.container('main').state, { running: { startedAt: '2026-01-01T00:00:00Z' } });
  await pod.stop();
  const failing = await new VirtualPod({ containers: [app('main', hook(exits(1, 4)))] }).run(1.5);
  const [event] = failing.said('FailedPostStartHook');
  assert.deepEqual([event?.type, event?.fieldPath], ['Warning', 'spec.containers{main}']);
  assert.equal(event?.message, 'PostStartHook failed', 'its output may be secret');
  const why = "command 'exit-after 1 4' exited with 4: ";
  assert.deepEqual(failing.logged, [`postStart hook failed: ${why}`]);
  await failing.run(40);
  assert.ok(failing.container('main').restartCount >= 1);
  const waits = failing.statuses.map(({ containerStatuses }) => containerStatuses?.[0]?.state.waiting);
  assert.equal(waits.find((each) => each?.reason === 'PostStartHookError')?.message, why);
  const reasons = waits.map((each) => each?.reason);
  assert.ok(reasons.includes('PostStartHookError') && reasons.includes('CrashLoopBackOff'), reasons.join(' '));
  assert.ok(failing.statuses.every(({ containerStatuses }) => containerStatuses?.[0]?.state.running === undefined));
  await failing.stop();
});

test('[LIFE-25] [LIFE-26] [LIFE-27] [LIFE-34] five conditions whose times change only with their status', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: exits(10, 1) })] }).run(5);
  assert.deepEqual(
    (pod.status.conditions ?? []).map(({ type, status, lastTransitionTime, lastProbeTime }) => [
      type,
      status,
      lastTransitionTime,
      lastProbeTime,
    ]),
    ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => [
      type,
      'True',
      '2026-01-01T00:00:00Z',
      null,
    ]),
  );
  await pod.run(16);
  const { status, reason, message, lastTransitionTime } = pod.condition('Ready') ?? {};
  assert.deepEqual(
    [status, reason, message, lastTransitionTime],
    ['False', 'ContainersNotReady', 'containers with unready status: [main]', '2026-01-01T00:00:20Z'],
  );
  assert.equal(pod.condition('Initialized')?.lastTransitionTime, '2026-01-01T00:00:00Z');
  await pod.stop();
});

test('[LIFE-27] a completed or failed pod is not ready, and reports which', async () => {
  for (const [code, reason, initialized] of [
    [0, 'PodCompleted', 'PodCompleted'],
    [1, 'PodFailed', undefined],
  ] as const) {
    const pod = await new VirtualPod({
      restartPolicy: 'Never',
      containers: [app('main', { command: exits(2, code) })],
    }).run(5);
    assert.deepEqual([pod.condition('Ready')?.status, pod.condition('Ready')?.reason], ['False', reason]);
    assert.equal(pod.condition('ContainersReady')?.reason, reason);
    assert.equal(pod.condition('Initialized')?.reason, initialized);
    await pod.stop();
  }
});

test('[EXP-03] [LIFE-28] [LIFE-29] [LIFE-30] [LIFE-31] a readiness gate keeps a pod not ready until it is set, and keeps its value', async () => {
  const conditionType = 'www.example.com/feature-1';
  const pod = await new VirtualPod({ readinessGates: [{ conditionType }] }).run(3);
  const ready = () => [pod.condition('Ready')?.status, pod.condition('Ready')?.reason, pod.condition('Ready')?.message];
  assert.deepEqual([pod.container('main').ready, pod.condition('ContainersReady')?.status], [true, 'True']);
  const missing = `corresponding condition of pod readiness gate "${conditionType}" does not exist.`;
  assert.deepEqual(ready(), ['False', 'ReadinessGatesNotReady', missing]);
  const set = async (status: string): Promise<void> => {
    const own = { type: conditionType, status, lastTransitionTime: '2026-01-01T00:00:00Z', message: 'by somebody' };
    pod.change((object) => {
      const others = (object.status.conditions ?? []).filter(({ type }) => type !== conditionType);
      return { ...object, status: { ...object.status, conditions: [...others, own] } };
    });
    await pod.run(1);
  };
  await set('False');
  assert.match(String(ready()[2]), /the status of pod readiness gate .* is not "True", but False/);
  await set('True');
  assert.deepEqual(ready(), ['True', undefined, undefined]);
  assert.equal(pod.condition(conditionType)?.message, 'by somebody');
  await pod.stop();
});

test('[EXP-09] the events of a container have the messages of a kubelet, with the field path in the pod', async () => {
  const pod = await new VirtualPod({ initContainers: [app('init-myservice', { command: exits(5, 0) })] }).run(2);
  assert.deepEqual(
    pod.events.map(({ type, reason, message, fieldPath }) => [type, reason, message, fieldPath]),
    [
      ['Normal', 'Pulled', 'Container image "busybox:1.36" already present on machine'],
      ['Normal', 'Created', 'Created container: init-myservice'],
      ['Normal', 'Started', 'Started container init-myservice'],
    ].map((event) => [...event, 'spec.initContainers{init-myservice}']),
  );
  await pod.stop();
});

test('[SAFE-07] an API outage of minutes ends nothing, and all updates are sent when it is back', async () => {
  const pod = await new VirtualPod({ containers: [app('main'), app('flaky', { command: exits(30, 1) })] }).run(5);
  pod.apiIsAway = true;
  await pod.run(300);
  assert.deepEqual(pod.began.filter(({ container }) => container === 'main').length, 1);
  const restarts = pod.began.filter(({ container }) => container === 'flaky').length - 1;
  assert.ok(restarts >= 3, 'the kubelet restarts containers by itself');
  pod.apiIsAway = false;
  await pod.run(60);
  assert.ok(pod.container('flaky').restartCount >= restarts);
  pod.remove(5);
  pod.apiIsAway = true;
  await pod.run(120);
  assert.equal(pod.isGone, false, 'nobody confirmed the end');
  assert.equal(pod.ended.filter(({ container }) => container === 'main').length, 1);
  pod.apiIsAway = false;
  await pod.run(60);
  assert.ok(pod.isGone);
  await pod.stop();
});

test('[LIFE-22] [TERM-04] a clock step in either direction ends nothing early and causes no long wait', async () => {
  for (const jump of [3_600, -3_600, 86_400 * 365, -86_400 * 365]) {
    const deaf = app('deaf', { command: ['ignore-stop'] });
    const pod = await new VirtualPod({ containers: [deaf, app('flaky', { command: exits(5, 1) })] }).run(12);
    pod.jumpClock(jump);
    const before = pod.began.length;
    await pod.run(11);
    assert.ok(pod.began.length > before, `the next start comes after a jump of ${jump} s`);
    pod.remove(30);
    await pod.run(5);
    pod.jumpClock(-jump);
    await pod.run(24);
    assert.ok(!pod.ended.some(({ container }) => container === 'deaf'), 'the grace is not over');
    await pod.run(2);
    assert.deepEqual(
      pod.ended.filter(({ container }) => container === 'deaf'),
      [{ container: 'deaf', at: 53 }],
    );
    assert.ok(pod.isGone);
    await pod.stop();
  }
});

test('[LIFE-22] [LIFE-24] a restarted kubelet resets the back-off and never counts a restart twice', async () => {
  const pod = await new VirtualPod({ containers: [app('main', { command: exits(1, 1) })] }).run(40);
  const count = pod.container('main').restartCount;
  await pod.restartKubelet();
  await pod.run(3);
  assert.equal(pod.container('main').restartCount, count + 1, 'the first restart that it sees is immediate');
  await pod.run(600);
  const starts = pod.began.length;
  assert.equal(pod.container('main').restartCount, starts - 1);
  await pod.stop();
});

test('a storm of events about a pod causes sequential syncs, and changes nothing', async () => {
  const pod = await new VirtualPod({}).run(5);
  const statuses = pod.statuses.length;
  for (let event = 0; event < 10_000; event++)
    pod.change((object) => ({ ...object, metadata: { ...object.metadata, labels: { n: String(event) } } }));
  await pod.run(1);
  assert.deepEqual([pod.statuses.length, pod.began.length, pod.stops], [statuses, 1, []]);
  assert.ok(pod.looks < 30, `${pod.looks} looks at the runtime`);
  await pod.stop();
});
