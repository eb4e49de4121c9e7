import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, EVENTS, LEASES, NODES, PODS, type Pod } from '@holdfast/api';
import { RuntimeError } from '@holdfast/kubelet';
import { StatusError } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';
import {
  clock,
  eventually,
  getPod,
  gone,
  type HollowNode,
  type KubeletCluster,
  nodeReady,
  podManifest,
  podWhere,
  running,
  startApi,
  startHollowNode,
  type WireRequest,
  withCommand,
} from '../support/kubelet-cluster.ts';

interface World extends KubeletCluster {
  readonly node: HollowNode;
}

const check = (
  title: string,
  body: (world: World) => Promise<void>,
  wrap?: Parameters<typeof startHollowNode>[1],
): void => {
  test(title, async () => {
    const api = await startApi();
    const node = await startHollowNode(api.handle, wrap);
    try {
      await body({ ...api, node });
    } finally {
      await node.stop();
      await api.stop();
    }
  });
};

const conditionOf = (pod: Pod, type: string): string | undefined =>
  pod.status.conditions?.find((condition) => condition.type === type)?.status;

const podWrites = (node: HollowNode, name: string): readonly string[] =>
  node.wire
    .filter(({ method, path }) => method !== 'GET' && path.includes(`/pods/${name}`))
    .map(({ method }) => method);

check('a node registers with its facts, a ready condition and a lease', async ({ admin }) => {
  const node = await nodeReady(admin);
  assert.equal(node.metadata.labels?.['kubernetes.io/hostname'], 'n1');
  assert.equal(node.status.capacity?.['pods'], '110');
  assert.deepEqual(
    node.status.conditions?.map(({ type, status }) => [type, status]),
    [
      ['MemoryPressure', 'False'],
      ['DiskPressure', 'False'],
      ['PIDPressure', 'False'],
      ['Ready', 'True'],
    ],
  );
  const lease = await eventually(() => admin.find(LEASES, { namespace: 'kube-node-lease', name: 'n1' }), 'a lease');
  assert.equal(lease.spec.holderIdentity, 'n1');
  assert.equal(lease.spec.leaseDurationSeconds, 40);
  assert.equal(lease.metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
});

check('[LIFE-01] a pod runs, with all that its status must say', async ({ admin, node }) => {
  await nodeReady(admin);
  await admin.create(PODS, podManifest('web'));
  const pod = await running(admin, 'web');
  assert.equal(pod.status.hostIP, '10.0.0.1');
  assert.match(pod.status.podIP ?? '', /^10\./);
  assert.ok(pod.status.startTime !== undefined);
  assert.equal(pod.status.qosClass, 'BestEffort');
  for (const type of ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'])
    assert.equal(conditionOf(pod, type), 'True', type);
  const [status] = pod.status.containerStatuses ?? [];
  assert.ok(status?.state.running?.startedAt !== undefined);
  assert.deepEqual([status.ready, status.started, status.restartCount], [true, true, 0]);
  assert.match(status.containerID ?? '', /^hollow:\/\//);
  assert.deepEqual(podWrites(node, 'web'), ['PATCH'], 'a quick start is one write');
  const reasons = await eventually(async () => {
    const events = await admin.list(EVENTS, { namespace: 'default' });
    const seen = events.items.map(({ reason }) => reason);
    return seen.length >= 3 && seen;
  }, 'events');
  assert.deepEqual(reasons.map(String).toSorted(), ['Created', 'Pulled', 'Started']);
});

check('[LIFE-05] [LIFE-06] a pod that may not restart ends as its exit code says', async ({ admin }) => {
  await admin.create(
    PODS,
    podManifest('good', { restartPolicy: 'Never', containers: withCommand(['exit-after', '0', '0']) }),
  );
  await admin.create(
    PODS,
    podManifest('bad', { restartPolicy: 'Never', containers: withCommand(['exit-after', '0', '3']) }),
  );
  const good = await podWhere(admin, 'good', ({ status }) => status.phase === 'Succeeded', 'succeeded');
  const bad = await podWhere(admin, 'bad', ({ status }) => status.phase === 'Failed', 'failed');
  assert.equal(good.status.containerStatuses?.[0]?.state.terminated?.reason, 'Completed');
  assert.equal(bad.status.containerStatuses?.[0]?.state.terminated?.exitCode, 3);
  assert.equal(conditionOf(good, 'Ready'), 'False');
});

check(
  '[LIFE-22] [LIFE-24] a container that fails is restarted at once, then waits in CrashLoopBackOff',
  async ({ admin }) => {
    await admin.create(PODS, podManifest('crash', { containers: withCommand(['exit-after', '0', '1']) }));
    const pod = await podWhere(
      admin,
      'crash',
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff',
      'waits',
    );
    const [status] = pod.status.containerStatuses ?? [];
    assert.equal(status?.restartCount, 1);
    assert.equal(status.lastState.terminated?.exitCode, 1);
    assert.equal(
      status.state.waiting?.message,
      `back-off 10s restarting failed container=main pod=crash_default(${pod.metadata.uid})`,
    );
    assert.equal(pod.status.phase, 'Running');
  },
);

check(
  '[SAFE-07] [TERM-14] [TERM-15] the final status is written before the object is deleted, after the process ended',
  async ({ admin, node }) => {
    const created = await admin.create(PODS, podManifest('web', { containers: withCommand(['stop-after', '0.1']) }));
    await running(admin, 'web');
    const before = node.wire.length;
    await admin.delete(PODS, { namespace: 'default', name: 'web' });
    await gone(admin, 'web', created.metadata.uid);
    assert.equal(node.facts.at(-1)?.kind, 'ended');
    const writes = node.wire.slice(before).filter(({ method, path }) => method !== 'GET' && path.includes('/pods/web'));
    const [last, final] = writes.toReversed();
    assert.equal(last?.method, 'DELETE');
    assert.deepEqual(last.body, {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: created.metadata.uid },
    });
    assert.match(JSON.stringify(final?.body), /"phase":"Succeeded"/);
    assert.deepEqual(await node.machine.list(), [], 'everything was released before');
  },
);

check(
  '[SAFE-03] [SAFE-12] a container that ignores the stop signal holds its object until its grace is over and it is killed',
  async ({ admin, node }) => {
    const spec = { containers: withCommand(['ignore-stop']), terminationGracePeriodSeconds: 2 };
    const created = await admin.create(PODS, podManifest('deaf', spec));
    await running(admin, 'deaf');
    await admin.delete(PODS, { namespace: 'default', name: 'deaf' });
    const deadline = parseTime((await getPod(admin, 'deaf'))?.metadata.deletionTimestamp ?? '') ?? Number.NaN;
    await eventually(async () => {
      const pod = await getPod(admin, 'deaf');
      const dead = node.facts.some(({ kind }) => kind === 'ended');
      assert.ok(pod !== undefined || dead, 'the object outlives the process');
      return dead;
    }, 'the process was killed');
    await gone(admin, 'deaf', created.metadata.uid);
    const endedAt = node.facts.find(({ kind }) => kind === 'ended')?.at ?? Number.NaN;
    assert.ok(endedAt >= deadline, `killed ${deadline - endedAt} ms before the end of its grace`);
  },
);

check('[TERM-37] [SAFE-05] a shorter grace given later ends the wait', async ({ admin }) => {
  const spec = { containers: withCommand(['ignore-stop']), terminationGracePeriodSeconds: 600 };
  const created = await admin.create(PODS, podManifest('deaf', spec));
  await running(admin, 'deaf');
  await admin.delete(PODS, { namespace: 'default', name: 'deaf' });
  await podWhere(admin, 'deaf', ({ metadata }) => metadata.deletionTimestamp !== undefined, 'terminating');
  await admin.delete(PODS, { namespace: 'default', name: 'deaf' }, { gracePeriodSeconds: 1 });
  await gone(admin, 'deaf', created.metadata.uid);
});

check('[TERM-18] processes of a force-deleted pod are ended', async ({ admin, node }) => {
  await admin.create(PODS, podManifest('web', { containers: withCommand(['ignore-stop']) }));
  await running(admin, 'web');
  await admin.delete(PODS, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
  assert.equal(await getPod(admin, 'web'), undefined);
  await eventually(async () => (await node.machine.list()).length === 0, 'nothing is left on the node');
  assert.equal(node.facts.at(-1)?.kind, 'ended');
});

check(
  '[SAFE-02] [SAFE-10] a pod that a finalizer holds ends once, starts nothing more and goes with the finalizer',
  async ({ admin, node }) => {
    const manifest = podManifest('held', { containers: withCommand(['stop-after', '0.1']) });
    const finalizers = ['example.com/hold'];
    const created = await admin.create(PODS, { ...manifest, metadata: { ...manifest.metadata, finalizers } });
    await running(admin, 'held');
    const target = { namespace: 'default', name: 'held' };
    await admin.delete(PODS, target);
    const isHeld = ({ metadata }: Pod): boolean => metadata.deletionGracePeriodSeconds === 0;
    const held = await podWhere(admin, 'held', isHeld, 'held after its kubelet was done');
    assert.equal(held.status.phase, 'Succeeded');
    await admin.delete(PODS, target, { gracePeriodSeconds: 0 });
    assert.deepEqual((await getPod(admin, 'held'))?.metadata.finalizers, finalizers, 'held against force');
    await admin.patch(PODS, target, { type: 'merge', body: { metadata: { finalizers: null } } });
    await gone(admin, 'held', created.metadata.uid);
    assert.deepEqual(
      node.facts.map(({ kind }) => kind),
      ['started', 'ended'],
    );
  },
);

check('[SAFE-01] [SAFE-34] a pod that runs stays on its node', async ({ admin, node }) => {
  const created = await admin.create(PODS, podManifest('web'));
  await running(admin, 'web');
  const target = { namespace: 'default', name: 'web' };
  const isRefused =
    (code: number) =>
    (error: unknown): boolean =>
      error instanceof StatusError && error.code === code;
  await assert.rejects(admin.bind(target, 'n2', created.metadata.uid ?? ''), isRefused(409));
  const body = { spec: { nodeName: 'n2' } };
  await assert.rejects(admin.patch(PODS, target, { type: 'merge', body }), isRefused(422));
  assert.equal((await getPod(admin, 'web'))?.spec.nodeName, 'n1');
  assert.deepEqual(
    node.facts.map(({ kind }) => kind),
    ['started'],
  );
});

check(
  '[SAFE-26] the next pod of the same name starts only after the processes of the one before ended',
  async ({ admin, node }) => {
    await admin.create(PODS, podManifest('db-0', { containers: withCommand(['ignore-stop']) }));
    await running(admin, 'db-0');
    await admin.delete(PODS, { namespace: 'default', name: 'db-0' }, { gracePeriodSeconds: 0 });
    const next = await admin.create(PODS, podManifest('db-0'));
    await running(admin, 'db-0');
    assert.deepEqual(
      node.facts.map(({ kind, podUid }) => [kind, podUid === next.metadata.uid]),
      [
        ['started', false],
        ['ended', false],
        ['started', true],
      ],
    );
  },
);

check(
  '[SAFE-06] [SAFE-26] [SAFE-30] deleted, made again, deleted again while the first one dies: one process at a time, and the last one runs',
  async ({ admin, node }) => {
    const deaf = { containers: withCommand(['ignore-stop']), terminationGracePeriodSeconds: 1 };
    const uids: (string | undefined)[] = [];
    const make = async (): Promise<void> => {
      uids.push((await admin.create(PODS, podManifest('web', deaf))).metadata.uid);
    };
    const remove = (gracePeriodSeconds: number): Promise<void> =>
      admin.delete(PODS, { namespace: 'default', name: 'web' }, { gracePeriodSeconds });
    await make();
    await running(admin, 'web');
    for (let again = 0; again < 3; again++) {
      await remove(0);
      await make();
    }
    await remove(1);
    await gone(admin, 'web', uids.at(-1));
    await make();
    await running(admin, 'web');
    const story = node.facts.map(({ kind, podUid }) => `${kind} ${uids.indexOf(podUid)}`);
    assert.equal(story[0], 'started 0');
    assert.equal(story.at(-1), `started ${uids.length - 1}`);
    // A slow machine may have let one of those in between begin: then it ended before the next one.
    for (const [index, fact] of node.facts.entries()) {
      const next = node.facts[index + 1];
      if (fact.kind !== 'started' || next === undefined) continue;
      assert.deepEqual([next.kind, next.podUid], ['ended', fact.podUid], story.join(', '));
    }
  },
);

check(
  '[POD-17] [POD-27] a kubelet looks at pods, never at templates, and every pod has an address of its own',
  async ({ admin, node }) => {
    const names = ['a', 'b', 'c'];
    for (const name of names) await admin.create(PODS, podManifest(name));
    const pods = await Promise.all(names.map((name) => running(admin, name)));
    const addresses = pods.map(({ status }) => status.podIP);
    assert.equal(new Set(addresses).size, names.length);
    assert.deepEqual(
      pods.map(({ status }) => status.podIPs?.map(({ ip }) => ip)),
      addresses.map((ip) => [ip]),
    );
    const asked = new Set(
      node.wire.map(({ path }) => /\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)/.exec(path)?.[1]),
    );
    for (const kind of asked)
      assert.ok(['pods', 'nodes', 'leases', 'events'].includes(kind ?? ''), `asked for ${kind}`);
  },
);

check(
  '[SAFE-29] [TEST-05] a restarted kubelet takes up its pods: nothing restarts, nothing is written',
  async ({ admin, node }) => {
    await admin.create(PODS, podManifest('web'));
    await running(admin, 'web');
    const before = await getPod(admin, 'web');
    const writes = podWrites(node, 'web').length;
    await node.restart();
    await admin.create(PODS, podManifest('other'));
    await running(admin, 'other');
    assert.deepEqual(await getPod(admin, 'web'), before);
    assert.equal(podWrites(node, 'web').length, writes);
    assert.equal(node.facts.length, 2);
  },
);

check('[SAFE-08] [SAFE-30] a kubelet that restarts during a termination completes it', async ({ admin, node }) => {
  const spec = { containers: withCommand(['ignore-stop']), terminationGracePeriodSeconds: 2 };
  const created = await admin.create(PODS, podManifest('deaf', spec));
  await running(admin, 'deaf');
  await admin.delete(PODS, { namespace: 'default', name: 'deaf' });
  await podWhere(admin, 'deaf', ({ metadata }) => metadata.deletionTimestamp !== undefined, 'terminating');
  await node.restart();
  await gone(admin, 'deaf', created.metadata.uid);
  assert.equal(node.facts.length, 2);
});

check('[SAFE-32] a node cut off keeps its pods and starts none; afterwards it catches up', async ({ admin, node }) => {
  await admin.create(PODS, podManifest('web'));
  await running(admin, 'web');
  node.cut(true);
  await admin.create(PODS, podManifest('late'));
  const until = clock.monotonic() + 300;
  await eventually(async () => {
    assert.deepEqual(
      node.facts.map(({ kind, podName }) => [kind, podName]),
      [['started', 'web']],
    );
    return clock.monotonic() > until;
  }, 'a while passes');
  node.cut(false);
  await running(admin, 'late');
  assert.deepEqual(
    node.facts.map(({ podName }) => podName),
    ['web', 'late'],
  );
});

check(
  '[SAFE-31] before a node whose object was deleted is ready again, pods the API does not know are dead',
  async ({ admin, node }) => {
    await nodeReady(admin);
    await admin.create(PODS, podManifest('web', { containers: withCommand(['ignore-stop']) }));
    await running(admin, 'web');
    node.cut(true);
    await admin.delete(NODES, { name: 'n1' });
    await admin.delete(PODS, { namespace: 'default', name: 'web' }, { gracePeriodSeconds: 0 });
    await node.restart();
    node.cut(false);
    await eventually(async () => {
      const found = await admin.find(NODES, { name: 'n1' });
      const isReady =
        found?.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
      if (isReady) assert.equal(node.facts.at(-1)?.kind, 'ended', 'ready only when the old process is dead');
      return isReady;
    }, 'the node is ready again');
    assert.deepEqual(await node.machine.list(), []);
  },
);

check('[LIFE-37] a pod past its active deadline is ended and failed', async ({ admin }) => {
  await admin.create(PODS, podManifest('slow', { activeDeadlineSeconds: 1 }));
  const pod = await podWhere(admin, 'slow', ({ status }) => status.phase === 'Failed', 'failed');
  assert.equal(pod.status.reason, 'DeadlineExceeded');
  assert.equal(pod.status.message, 'Pod was active on the node longer than the specified deadline');
});

check('[LIFE-16] a missing config map is CreateContainerConfigError until it exists', async ({ admin, node }) => {
  const [main] = withCommand(['stay']);
  assert.ok(main !== undefined);
  const env = [{ name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'paint', key: 'color' } } }];
  await admin.create(PODS, podManifest('painted', { containers: [{ ...main, env }] }));
  const waiting = await podWhere(
    admin,
    'painted',
    ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
    'waits',
  );
  assert.equal(waiting.status.containerStatuses?.[0]?.state.waiting?.message, 'configmap "paint" not found');
  assert.equal(waiting.status.phase, 'Pending');
  const metadata = { name: 'paint', namespace: 'default' };
  await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { color: 'blue' } });
  await node.restart();
  await running(admin, 'painted');
});

check('[INIT-02] init containers run one after another before the app containers', async ({ admin, node }) => {
  const init = (name: string) => ({ name, image: 'busybox:1.36', command: ['exit-after', '0.02', '0'], resources: {} });
  await admin.create(PODS, podManifest('staged', { initContainers: [init('first'), init('second')] }));
  const pod = await running(admin, 'staged');
  assert.deepEqual(
    node.facts.map(({ kind, container }) => `${kind} ${container}`),
    ['started first', 'ended first', 'started second', 'ended second', 'started main'],
  );
  assert.deepEqual(
    pod.status.initContainerStatuses?.map(({ ready, state }) => [ready, state.terminated?.reason]),
    [
      [true, 'Completed'],
      [true, 'Completed'],
    ],
  );
});

check('[SIDE-08] [SIDE-09] a sidecar runs beside the app and ends after it', async ({ admin, node }) => {
  const sidecar = { name: 'proxy', image: 'busybox:1.36', command: ['stay'], restartPolicy: 'Always', resources: {} };
  const spec = {
    initContainers: [sidecar],
    restartPolicy: 'Never',
    containers: withCommand(['exit-after', '0.05', '0']),
  };
  await admin.create(PODS, podManifest('job', spec));
  await podWhere(admin, 'job', ({ status }) => status.phase === 'Succeeded', 'succeeded');
  assert.deepEqual(
    node.facts.map(({ kind, container }) => `${kind} ${container}`),
    ['started proxy', 'started main', 'ended main', 'ended proxy'],
  );
});

check('[LIFE-29] [LIFE-31] conditions of others are kept, and a readiness gate waits for one', async ({ admin }) => {
  const readinessGates = [{ conditionType: 'www.example.com/feature-1' }];
  await admin.create(PODS, podManifest('gated', { readinessGates }));
  const pod = await running(admin, 'gated');
  assert.deepEqual([conditionOf(pod, 'ContainersReady'), conditionOf(pod, 'Ready')], ['True', 'False']);
  const conditions = [...(pod.status.conditions ?? []), { type: 'www.example.com/feature-1', status: 'True' }];
  const target = { namespace: 'default', name: 'gated' };
  await admin.patch(PODS, target, { type: 'merge', body: { status: { conditions } }, subresource: 'status' });
  const ready = await podWhere(admin, 'gated', (each) => conditionOf(each, 'Ready') === 'True', 'ready');
  assert.equal(conditionOf(ready, 'www.example.com/feature-1'), 'True');
});

check(
  '[PROBE-10] [PROBE-08] readiness waits for its probe, a failed liveness probe restarts the container',
  async ({ admin }) => {
    const [main] = withCommand(['stay']);
    assert.ok(main !== undefined);
    const exec = (code: string) => ({
      exec: { command: ['exit-after', '0', code] },
      periodSeconds: 1,
      failureThreshold: 1,
    });
    await admin.create(PODS, podManifest('ready', { containers: [{ ...main, readinessProbe: exec('0') }] }));
    await admin.create(PODS, podManifest('unready', { containers: [{ ...main, readinessProbe: exec('1') }] }));
    await admin.create(
      PODS,
      podManifest('sick', { containers: [{ ...main, livenessProbe: exec('1') }], terminationGracePeriodSeconds: 1 }),
    );
    await podWhere(admin, 'ready', (pod) => conditionOf(pod, 'Ready') === 'True', 'ready');
    const sick = await podWhere(
      admin,
      'sick',
      ({ status }) => (status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
      'restarted',
    );
    assert.equal(sick.status.containerStatuses?.[0]?.lastState.terminated?.exitCode, 143);
    assert.equal(conditionOf(await running(admin, 'unready'), 'Ready'), 'False');
  },
);

const hooked = (lifecycle: object, command = ['stay']) => {
  const [main] = withCommand(command);
  assert.ok(main !== undefined);
  return [{ ...main, lifecycle }];
};
const hook = (seconds: string, code: string) => ({ exec: { command: ['exit-after', seconds, code] } });

check(
  '[TERM-07] [TERM-28] [EXP-18] preStop runs first, and its time is taken off the grace',
  async ({ admin, node }) => {
    const containers = hooked({ preStop: hook('1.2', '0') }, ['ignore-stop']);
    const created = await admin.create(PODS, podManifest('web', { containers, terminationGracePeriodSeconds: 4 }));
    await running(admin, 'web');
    const deletedAt = clock.now();
    await admin.delete(PODS, { namespace: 'default', name: 'web' });
    await gone(admin, 'web', created.metadata.uid);
    const livedMs = (node.facts.at(-1)?.at ?? 0) - deletedAt;
    assert.ok(livedMs >= 4_200, `1.2 s of hook, then 4 - 1 s of grace, not ${livedMs} ms`);
  },
);

check('[TERM-19] [TERM-08] a preStop hook that hangs is left behind when the grace ends', async ({ admin, node }) => {
  const containers = hooked({ preStop: hook('600', '0') });
  const created = await admin.create(PODS, podManifest('web', { containers, terminationGracePeriodSeconds: 1 }));
  await running(admin, 'web');
  await admin.delete(PODS, { namespace: 'default', name: 'web' });
  await gone(admin, 'web', created.metadata.uid);
  assert.equal(node.facts.at(-1)?.kind, 'ended');
});

check(
  '[LIFE-17] a container is running only when its postStart hook is through; a failing hook ends it',
  async ({ admin }) => {
    await admin.create(PODS, podManifest('slow', { containers: hooked({ postStart: hook('0.3', '0') }) }));
    const waiting = await podWhere(
      admin,
      'slow',
      ({ status }) => status.containerStatuses !== undefined,
      'is reported',
    );
    assert.equal(waiting.status.phase, 'Pending');
    assert.equal(waiting.status.containerStatuses?.[0]?.state.waiting?.reason, 'ContainerCreating');
    await running(admin, 'slow');
    await admin.create(PODS, podManifest('bad', { containers: hooked({ postStart: hook('0', '1') }) }));
    await podWhere(
      admin,
      'bad',
      ({ status }) => (status.containerStatuses?.[0]?.restartCount ?? 0) > 0,
      'was restarted',
    );
    await eventually(async () => {
      const { items } = await admin.list(EVENTS, { namespace: 'default' });
      return items.some(({ reason }) => reason === 'FailedPostStartHook');
    }, 'an event says why');
  },
);

let stopsRefused = 0;

check(
  '[SAFE-12] while the runtime cannot confirm the end, the object stays; the stop is asked again',
  async ({ admin, node }) => {
    stopsRefused = 1;
    const created = await admin.create(PODS, podManifest('stuck', { terminationGracePeriodSeconds: 1 }));
    await running(admin, 'stuck');
    await admin.delete(PODS, { namespace: 'default', name: 'stuck' });
    await eventually(async () => {
      const exists = (await getPod(admin, 'stuck'))?.metadata.uid === created.metadata.uid;
      assert.ok(exists || stopsRefused === 0, 'nothing was confirmed');
      return stopsRefused === 0;
    }, 'the stop was asked again');
    assert.equal(node.facts.length, 1, 'the process lives');
    await gone(admin, 'stuck', created.metadata.uid);
    assert.equal(node.facts.at(-1)?.kind, 'ended');
  },
  (runtime) => ({
    ...runtime,
    stopContainer: (id, graceMs) => {
      if (stopsRefused === 0) return runtime.stopContainer(id, graceMs);
      stopsRefused--;
      return Promise.reject(new RuntimeError('Unconfirmed', 'processes live after the kill'));
    },
  }),
);

check(
  'a pod costs the API server one look, one status and its events; its end costs no more than two looks and two statuses',
  async ({ admin, node }) => {
    const kindOf = ({ method, path }: WireRequest): string => {
      // The list and the watch of all pods of the node belong to none of them.
      const [, , , scope, , resource = '', ...rest] = path.split('/');
      if (scope !== 'namespaces') return '';
      return [method, resource, ...rest.slice(1)].join(' ');
    };
    const counted = (requests: readonly WireRequest[]): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const kind of requests.map(kindOf).filter((each) => /pods|events/.test(each)))
        counts[kind] = (counts[kind] ?? 0) + 1;
      return counts;
    };
    const told = (reason: string) => (): boolean =>
      node.wire.some(({ body }) => (body as { reason?: string } | undefined)?.reason === reason);
    node.wire.length = 0;
    const { metadata } = await admin.create(PODS, podManifest('counted', { terminationGracePeriodSeconds: 1 }));
    await running(admin, 'counted');
    await eventually(told('Started'), 'its last event is told');
    assert.deepEqual(counted(node.wire), { 'GET pods': 1, 'PATCH pods status': 1, 'POST events': 3 });
    node.wire.length = 0;
    await admin.delete(PODS, { namespace: 'default', name: 'counted' });
    await gone(admin, 'counted', metadata.uid);
    await eventually(told('Killing'), 'its end is told');
    await eventually(() => (counted(node.wire)['GET pods'] ?? 0) > 0, 'the API says that it is gone');
    const { 'GET pods': looks = 0, 'PATCH pods status': statuses = 0, ...others } = counted(node.wire);
    assert.deepEqual(others, { 'POST events': 1, 'DELETE pods': 1 });
    assert.ok(looks <= 2 && statuses <= 2, `${looks} looks, ${statuses} statuses`);
  },
);
