import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPodReady, LEASES, NODES, type Node, PODS, type Pod, podCondition } from '@holdfast/api';
import { NODE_MONITOR_GRACE_SECONDS_DEFAULT } from '@holdfast/client/node-monitor-grace';
import { formatMicroTime } from '@holdfast/platform';
import fc from 'fast-check';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { NODE_WRITE_RETRY_MS } from '../../limits.ts';
import { node, pod, readyStatus } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { decideEvictions, toleratedFor } from './evictions.ts';
import { nodeLifecycleController } from './index.ts';
import { createGracefulEviction } from './pod-eviction.ts';
import { readyCondition } from './taints.ts';

const UNREACHABLE = 'node.kubernetes.io/unreachable';
const NOT_READY = 'node.kubernetes.io/not-ready';
const SECOND = 1_000;

class Cluster {
  readonly world: World = createWorld();
  readonly alive: Set<string>;
  readonly #nodeMonitorGraceMs: number;
  controller: DrivenController;

  constructor(names: readonly string[], options: { readonly graceSeconds?: number } = {}) {
    this.alive = new Set(names);
    this.#nodeMonitorGraceMs = (options.graceSeconds ?? NODE_MONITOR_GRACE_SECONDS_DEFAULT) * SECOND;
    for (const name of names) this.world.api.put(NODES, node(name));
    this.controller = this.#boot();
  }

  /** The process is gone with all that it remembered; another one begins. */
  restart(): void {
    this.controller.kill();
    this.controller = this.#boot();
  }

  #boot(): DrivenController {
    const settings = { nodeMonitorGraceMs: this.#nodeMonitorGraceMs, podEviction: createGracefulEviction };
    return new DrivenController(this.world, nodeLifecycleController(settings));
  }

  addPod(name: string, on: string, tolerationSeconds?: number): void {
    const tolerations =
      tolerationSeconds === undefined
        ? []
        : [{ key: UNREACHABLE, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }];
    this.world.api.put(PODS, pod({ name }, readyStatus('2025-12-31T00:00:00Z'), { nodeName: on, tolerations }));
  }

  /** Every living kubelet renews its lease each 10 s; one that was considered dead reports Ready again. */
  async run(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 5) {
      this.world.clock.skip(5 * SECOND);
      if ((this.world.clock.monotonic() / SECOND) % 10 === 0) for (const name of this.alive) this.#beat(name);
      await this.controller.settle();
    }
  }

  #beat(name: string): void {
    this.#renew(name);
    const stored = this.node(name);
    if (readyCondition(stored)?.status === 'True') return;
    this.world.api.put(NODES, { ...stored, status: node(name).status });
  }

  /** Its kubelet lives, and reports that it cannot run pods. */
  sayNotReady(name: string): void {
    this.#renew(name);
    this.world.api.put(NODES, { ...this.node(name), status: node(name, { ready: 'False' }).status });
  }

  #renew(name: string): void {
    const { api, clock } = this.world;
    api.put(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: 'kube-node-lease' },
      spec: { renewTime: formatMicroTime(clock.now()) },
    });
  }

  node(name: string): Node {
    return this.world.api.get(NODES, { name });
  }
  pod(name: string): Pod {
    return this.world.api.get(PODS, { namespace: 'default', name });
  }
  taints(name: string): readonly string[] {
    return (this.node(name).spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  }
}

test('[SAFE-27] a silent node becomes Unknown after the grace period, is tainted, and its pods are marked not ready', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-a', 'a', 300);
  await cluster.run(60);
  cluster.alive.delete('a');
  await cluster.run(45);
  assert.equal(readyCondition(cluster.node('a'))?.status, 'True');
  await cluster.run(20);
  const ready = readyCondition(cluster.node('a'));
  assert.deepEqual(
    [ready?.status, ready?.reason, ready?.message],
    ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'],
  );
  assert.deepEqual(cluster.taints('a'), [`${UNREACHABLE}:NoSchedule`, `${UNREACHABLE}:NoExecute`]);
  assert.equal(isPodReady(cluster.pod('on-a')), false);
  assert.ok(!isTerminating(cluster.pod('on-a')), 'tolerated for 300 s');
  assert.deepEqual(cluster.taints('b'), []);
});

test('[SAFE-27] [SAFE-28] [LIFE-09] [DISR-29] after tolerationSeconds the deletion begins gracefully and records the reason', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-a', 'a', 300);
  cluster.addPod('on-b', 'b', 300);
  cluster.alive.delete('a');
  await cluster.run(350);
  assert.ok(!isTerminating(cluster.pod('on-a')));
  await cluster.run(30);
  const lost = cluster.pod('on-a');
  assert.ok(isTerminating(lost));
  assert.equal(lost.status.reason, 'NodeLost');
  const down = podCondition(lost, 'NodeDown');
  assert.deepEqual([down?.status, down?.reason], ['True', 'NodePartitioned']);
  assert.match(podCondition(lost, 'NodeDown')?.message ?? '', /Node a /);
  const target = podCondition(lost, 'DisruptionTarget');
  assert.deepEqual(
    [target?.status, target?.reason, target?.message],
    ['True', 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint'],
  );
  assert.ok(cluster.world.api.events.some((e) => e.reason === 'TaintManagerEviction' && e.about === 'on-a'));
  assert.ok(!isTerminating(cluster.pod('on-b')));
  await cluster.run(600);
  assert.ok(isTerminating(cluster.pod('on-a')), 'begun, never completed');
});

test('[SAFE-29] a heartbeat that returns in time cancels taint and timer, and nothing restarts', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-a', 'a', 300);
  cluster.alive.delete('a');
  await cluster.run(200);
  assert.equal(readyCondition(cluster.node('a'))?.status, 'Unknown');
  cluster.alive.add('a');
  await cluster.run(400);
  assert.deepEqual(cluster.taints('a'), []);
  assert.ok(!isTerminating(cluster.pod('on-a')));
  assert.ok(cluster.world.api.events.some((e) => e.message === 'Cancelling deletion of Pod default/on-a'));
});

test('[SAFE-29] a pod marked NodeDown but not deleted is unmarked when the node is back', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-a', 'a', 0);
  cluster.world.api.beforeWrite = (write) => {
    if (write.verb === 'delete') throw new Error('the manager died here');
  };
  cluster.alive.delete('a');
  await cluster.run(65).catch(() => {});
  assert.equal(podCondition(cluster.pod('on-a'), 'NodeDown')?.status, 'True');
  cluster.world.api.beforeWrite = () => {};
  cluster.world.api.put(NODES, { ...cluster.node('a'), spec: {}, status: node('a').status });
  cluster.alive.add('a');
  await cluster.run(20);
  assert.ok(!isTerminating(cluster.pod('on-a')));
  assert.equal(podCondition(cluster.pod('on-a'), 'NodeDown')?.status, 'False');
  assert.equal(podCondition(cluster.pod('on-a'), 'DisruptionTarget')?.status, 'False');
  assert.equal(cluster.pod('on-a').status.reason, undefined);
});

test('[SAFE-33] when every node is silent no pod is evicted, and timers restart afterwards', async () => {
  const names = ['a', 'b', 'c'];
  const cluster = new Cluster(names);
  for (const name of names) cluster.addPod(`on-${name}`, name);
  await cluster.run(30);
  cluster.alive.clear();
  await cluster.run(900);
  for (const name of names) {
    assert.equal(readyCondition(cluster.node(name))?.status, 'Unknown');
    assert.deepEqual(cluster.taints(name), [`${UNREACHABLE}:NoSchedule`]);
    assert.ok(!isTerminating(cluster.pod(`on-${name}`)));
  }
  cluster.alive.add('a');
  await cluster.run(45);
  assert.ok(!isTerminating(cluster.pod('on-b')), 'b gets a full grace after a is back');
});

test('[SAFE-33] while no heartbeat arrives, a node that is silent beyond the grace period is not marked', async () => {
  const cluster = new Cluster(['a', 'b', 'c']);
  await cluster.run(40);
  cluster.alive.delete('a');
  await cluster.run(20);
  cluster.alive.clear();
  await cluster.run(35);
  for (const name of ['a', 'b', 'c']) assert.equal(readyCondition(cluster.node(name))?.status, 'True', name);
});

test('[SAFE-33] in a full disruption an existing taint evicts no pod', () => {
  const lost = node('a', { ready: 'Unknown', taints: [{ key: UNREACHABLE, effect: 'NoExecute' }] });
  const impatient = pod({ name: 'p', uid: 'p' }, { phase: 'Running' }, { nodeName: 'a' });
  const look = (fullDisruption: boolean) =>
    decideEvictions(
      { node: lost, pods: [impatient], timers: new Map(), fullDisruption },
      { monotonicMs: 0, now: 0 },
    ).actions.map(({ type }) => type);
  assert.deepEqual([look(true), look(false)], [[], ['evict-pod']]);
});

test('[SAFE-33] an outage that hides all heartbeats marks no node unknown, however they were timed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 30 }), async (early, outage) => {
      const cluster = new Cluster(['a', 'b', 'c']);
      for (const name of ['a', 'b', 'c']) cluster.addPod(`on-${name}`, name);
      await cluster.run(40);
      cluster.alive.delete('a');
      await cluster.run(early * 5);
      cluster.alive.clear();
      await cluster.run(outage);
      for (const name of ['b', 'c', 'a']) {
        cluster.alive.add(name);
        await cluster.run(10);
      }
      for (const name of ['b', 'c']) assert.ok(!isTerminating(cluster.pod(`on-${name}`)));
    }),
    { numRuns: 30 },
  );
});

test('a controller that was paused itself marks no node', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-b', 'b');
  await cluster.run(30);
  cluster.world.clock.skip(300 * SECOND);
  cluster.alive.delete('b');
  await cluster.run(40);
  assert.equal(readyCondition(cluster.node('b'))?.status, 'True');
  assert.ok(!isTerminating(cluster.pod('on-b')));
});

test('the wall clock does not matter: heartbeats with a stopped or reversed clock count', async () => {
  const cluster = new Cluster(['a', 'b']);
  let turn = 0;
  for (let passed = 0; passed < 200; passed += 10) {
    turn++;
    cluster.world.api.put(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'a', namespace: 'kube-node-lease' },
      spec: { renewTime: `1999-01-01T00:00:00.${String(999_999 - turn)}Z` },
    });
    cluster.alive.delete('a');
    await cluster.run(10);
  }
  assert.equal(readyCondition(cluster.node('a'))?.status, 'True');
});

test('a frozen cache does not evict from a node that is back', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-a', 'a', 300);
  cluster.alive.delete('a');
  await cluster.run(100);
  assert.deepEqual(cluster.taints('a').length, 2);
  cluster.world.api.cache(NODES).freeze();
  cluster.world.api.put(NODES, { ...cluster.node('a'), spec: {}, status: node('a').status });
  await cluster.run(600);
  assert.ok(!isTerminating(cluster.pod('on-a')));
});

test('a restarted manager restarts the timers: a pod is evicted later than its toleration, never earlier', async () => {
  const cluster = new Cluster(['a', 'b']);
  cluster.addPod('on-a', 'a', 300);
  await cluster.run(20);
  cluster.alive.delete('a');
  await cluster.run(250);
  assert.deepEqual(cluster.taints('a').length, 2);
  cluster.restart();
  await cluster.run(280);
  assert.ok(!isTerminating(cluster.pod('on-a')), 'what the dead process had counted is not known');
  await cluster.run(60);
  assert.ok(isTerminating(cluster.pod('on-a')));
});

test('[DISR-13] cordon and conditions become NoSchedule taints and are removed again; user taints stay', async () => {
  const cluster = new Cluster(['a']);
  const own = { key: 'team', value: 'x', effect: 'NoSchedule' };
  const stored = cluster.node('a');
  const pressure = { type: 'MemoryPressure', status: 'True' };
  cluster.world.api.put(NODES, {
    ...stored,
    spec: { unschedulable: true, taints: [own] },
    status: { ...stored.status, conditions: [...(stored.status.conditions ?? []), pressure] },
  });
  await cluster.controller.settle();
  assert.deepEqual(cluster.taints('a'), [
    'team:NoSchedule',
    'node.kubernetes.io/memory-pressure:NoSchedule',
    'node.kubernetes.io/unschedulable:NoSchedule',
  ]);
  const cordoned = cluster.node('a');
  cluster.world.api.put(NODES, {
    ...cordoned,
    spec: { ...cordoned.spec, unschedulable: false },
    status: node('a').status,
  });
  await cluster.controller.settle();
  assert.deepEqual(cluster.taints('a'), ['team:NoSchedule']);
});

test('when most of a small zone is lost at once, conditions are correct, but no pod is evicted', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const cluster = new Cluster(names);
  for (const name of names) cluster.addPod(`on-${name}`, name);
  for (const name of ['a', 'b', 'c']) cluster.alive.delete(name);
  await cluster.run(900);
  const evicted = names.filter((name) => isTerminating(cluster.pod(`on-${name}`)));
  assert.deepEqual(evicted, []);
  assert.equal(readyCondition(cluster.node('a'))?.status, 'Unknown');
});

test('a node that is not ready and falls silent, or comes back so, keeps a NoExecute taint, and its evictions their time', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const cluster = new Cluster(names);
  const { api, clock } = cluster.world;
  const tolerations = [NOT_READY, UNREACHABLE].map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 150,
  }));
  api.put(PODS, pod({ name: 'on-a' }, readyStatus('2025-12-31T00:00:00Z'), { nodeName: 'a', tolerations }));
  await cluster.run(60);
  const taintsFor = (key: string): readonly string[] => [`${key}:NoSchedule`, `${key}:NoExecute`];
  // So many at once that no node of the zone gets the taint.
  for (const name of ['a', 'b', 'c']) cluster.alive.delete(name);
  cluster.sayNotReady('a');
  await cluster.controller.settle();
  const taintedAtMs = clock.monotonic();
  assert.deepEqual(cluster.taints('a'), taintsFor(NOT_READY));
  await cluster.run(70);
  assert.deepEqual(cluster.taints('a'), taintsFor(UNREACHABLE));
  assert.deepEqual(cluster.taints('b'), [`${UNREACHABLE}:NoSchedule`]);
  cluster.sayNotReady('a');
  await cluster.controller.settle();
  assert.deepEqual(cluster.taints('a'), taintsFor(NOT_READY));
  await cluster.run(145 - (clock.monotonic() - taintedAtMs) / SECOND);
  assert.ok(!isTerminating(cluster.pod('on-a')));
  await cluster.run(10);
  assert.ok(isTerminating(cluster.pod('on-a')));
});

const anyTaint = fc.record({ key: fc.constantFrom('x', UNREACHABLE), effect: fc.constant('NoExecute') });
const anyToleration = fc.record(
  {
    key: fc.constantFrom('x', UNREACHABLE),
    operator: fc.constant('Exists'),
    tolerationSeconds: fc.integer({ min: 0, max: 20 }),
  },
  { requiredKeys: ['key', 'operator'] },
);

test('of several tolerations of a taint the first counts, of several taints the shortest', () => {
  const tolerations = [
    { key: UNREACHABLE, operator: 'Exists', tolerationSeconds: 600 },
    { operator: 'Exists', tolerationSeconds: 30 },
    { key: NOT_READY, operator: 'Exists', tolerationSeconds: 5 },
  ];
  const subject = pod({ name: 'p', uid: 'p' }, {}, { tolerations });
  const taint = (key: string) => ({ key, effect: 'NoExecute' });
  const secondsFor = (...keys: readonly string[]): number => toleratedFor(subject, keys.map(taint)) / SECOND;
  assert.deepEqual([secondsFor(UNREACHABLE), secondsFor(NOT_READY), secondsFor(UNREACHABLE, 'x')], [600, 30, 30]);
  const forEver = pod({ name: 'p', uid: 'p' }, {}, { tolerations: [{ operator: 'Exists' }, ...tolerations] });
  assert.equal(toleratedFor(forEver, [taint(UNREACHABLE)]), Number.POSITIVE_INFINITY);
});

test('no pod is evicted before the shortest toleration has passed since the taint was observed, and never in full disruption', () => {
  fc.assert(
    fc.property(
      fc.array(anyTaint, { maxLength: 2 }),
      fc.array(anyToleration, { maxLength: 3 }),
      fc.boolean(),
      (taints, tolerations, fullDisruption) => {
        const on = { ...node('n', { ready: 'Unknown', taints }), metadata: { name: 'n', uid: 'n' } };
        const subject = pod({ name: 'p', uid: 'p' }, {}, { nodeName: 'n', tolerations });
        const counted = taints.filter((taint) => !fullDisruption || taint.key !== UNREACHABLE);
        let timers: ReadonlyMap<string, number> = new Map();
        for (let ms = 0; ms <= 25_000; ms += 1_000) {
          const decision = decideEvictions(
            { node: on, pods: [subject], timers, fullDisruption },
            { monotonicMs: ms, now: ms },
          );
          timers = decision.timers;
          const isEvicted = decision.actions.some((action) => action.type === 'evict-pod');
          assert.equal(isEvicted, ms >= toleratedFor(subject, counted), `at ${ms}`);
          if (decision.lookAgainMs !== undefined)
            assert.equal(ms + decision.lookAgainMs, toleratedFor(subject, counted));
        }
      },
    ),
  );
});

test('[SAFE-15] no write of this controller ends a pod', async () => {
  const cluster = new Cluster(['a', 'b', 'c']);
  for (const name of ['a', 'b', 'c']) cluster.addPod(`on-${name}`, name);
  cluster.alive.delete('a');
  await cluster.run(120);
  const deletes = cluster.world.api.writes.filter((write) => write.verb === 'delete');
  assert.deepEqual(
    deletes.map((write) => [write.identity, write.key, Object.keys(write.request ?? {})]),
    [['node-controller', 'default/on-a', ['uid']]],
  );
  assert.deepEqual(cluster.world.api.list(PODS).map(nameOf), ['on-a', 'on-b', 'on-c']);
});

test('a taint whose removal lost against another writer of the node is removed on the next pass, not a period later', async () => {
  const cluster = new Cluster(['a']);
  const { api, clock } = cluster.world;
  const fresh = cluster.node('a');
  const taints = [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }];
  api.put(NODES, { ...fresh, spec: { ...fresh.spec, taints } });
  // Both the periodic look and the one for the change find it.
  let losses = 2;
  api.beforeWrite = () => {
    if (losses-- === 0) api.beforeWrite = () => {};
    if (losses < 0) return;
    const annotations = { somebody: `was faster ${losses}` };
    const met = cluster.node('a');
    api.put(NODES, { ...met, metadata: { ...met.metadata, annotations } });
  };
  await cluster.controller.settle();
  assert.deepEqual(cluster.taints('a'), ['node.kubernetes.io/not-ready:NoSchedule']);
  clock.skip(NODE_WRITE_RETRY_MS);
  await cluster.controller.settle();
  assert.deepEqual(cluster.taints('a'), []);
});
