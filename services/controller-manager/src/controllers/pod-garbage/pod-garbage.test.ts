import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPodFinished, NODES, type Node, PODS, type Pod } from '@holdfast/api';
import fc from 'fast-check';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { POD_GC_BATCH_PODS, TERMINATED_POD_THRESHOLD_DEFAULT } from '../../limits.ts';
import { node, pod } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { decide } from './decide.ts';
import { podGarbageController } from './index.ts';
import { decideQuarantine } from './quarantine.ts';

const NOW = 1_767_225_600_000;
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const OUT_OF_SERVICE_TAINT = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];

const collector = (world: World, terminatedPodThreshold = 12_500): DrivenController =>
  new DrivenController(world, podGarbageController({ terminatedPodThreshold }));

/** Lets the collector look every 20 s for the given time. */
async function watchFor(world: World, controller: DrivenController, seconds: number): Promise<void> {
  await controller.settle();
  for (let passed = 0; passed < seconds; passed += 20) {
    world.clock.skip(20_000);
    await controller.settle();
  }
}

const names = (world: World): readonly string[] => world.api.list(PODS).map(nameOf);

test('[GC-03] [GC-06] [GC-07] [SAFE-18] [SAFE-20] [DISR-31] a pod of a deleted node is marked failed and removed after the quarantine', async () => {
  const world = createWorld();
  world.api.put(NODES, node('alive'));
  world.api.put(PODS, pod({ name: 'stays' }, { phase: 'Running' }, { nodeName: 'alive' }));
  const orphan = world.api.put(PODS, pod({ name: 'orphan' }, { phase: 'Running' }, { nodeName: 'gone' }));
  const seen: Pod[] = [];
  world.api.cache(PODS).onChange(({ object }) => object !== undefined && seen.push(object));
  const controller = collector(world);
  await watchFor(world, controller, 20);
  assert.deepEqual(names(world), ['stays', 'orphan'], 'still in quarantine');
  await watchFor(world, controller, 40);
  assert.deepEqual(names(world), ['stays']);
  const [marked] = seen;
  assert.equal(marked?.status.phase, 'Failed');
  assert.deepEqual(
    marked?.status.conditions?.map(({ type, status, reason, message }) => ({ type, status, reason, message })),
    [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' }],
  );
  assert.deepEqual(world.api.writes.at(-1), {
    identity: 'pod-garbage-collector',
    verb: 'delete',
    resource: 'pods',
    key: 'default/orphan',
    request: { gracePeriodSeconds: 0, uid: orphan.metadata.uid },
  });
});

test('[GC-03] [SAFE-18] a node missing only in the cache keeps its pods', async () => {
  const world = createWorld();
  world.api.cache(NODES).freeze();
  world.api.put(NODES, node('late'));
  world.api.put(PODS, pod({ name: 'safe' }, { phase: 'Running' }, { nodeName: 'late' }));
  await watchFor(world, collector(world), 200);
  assert.deepEqual(names(world), ['safe']);
});

test('[GC-03] the quarantine is continuous: a node that came back restarts it', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 40 }), (present) => {
      let quarantine: ReadonlyMap<string, number> = new Map();
      let missingSince: number | undefined;
      present.forEach((isPresent, index) => {
        const monotonicMs = index * 7_000;
        missingSince = isPresent ? undefined : (missingSince ?? monotonicMs);
        const picture = { named: new Set(['n']), known: new Set(isPresent ? ['n'] : []) };
        const { next, due } = decideQuarantine(quarantine, picture, { monotonicMs, quarantineMs: 40_000 });
        quarantine = next;
        const expected = missingSince !== undefined && monotonicMs - missingSince >= 40_000;
        assert.deepEqual(due, expected ? ['n'] : []);
      });
    }),
  );
});

test('[GC-04] [SAFE-18] a terminating pod that was never bound is removed', async () => {
  const world = createWorld();
  world.api.put(PODS, pod({ name: 'unbound', ...DELETED }, { phase: 'Pending' }));
  world.api.put(PODS, pod({ name: 'waiting' }, { phase: 'Pending' }));
  await collector(world).settle();
  assert.deepEqual(names(world), ['waiting']);
});

test('[GC-05] [SAFE-18] out-of-service: only terminating pods of a not-ready node with the taint', async () => {
  const world = createWorld();
  world.api.put(NODES, node('dead', { ready: 'Unknown', taints: OUT_OF_SERVICE_TAINT }));
  world.api.put(NODES, node('answers', { ready: 'True', taints: OUT_OF_SERVICE_TAINT }));
  world.api.put(NODES, node('silent', { ready: 'Unknown' }));
  for (const name of ['dead', 'answers', 'silent']) {
    world.api.put(PODS, pod({ name: `${name}-ending`, ...DELETED }, { phase: 'Running' }, { nodeName: name }));
    world.api.put(PODS, pod({ name: `${name}-running` }, { phase: 'Running' }, { nodeName: name }));
  }
  await watchFor(world, collector(world), 100);
  assert.deepEqual(names(world), [
    'dead-running',
    'answers-ending',
    'answers-running',
    'silent-ending',
    'silent-running',
  ]);
});

test('[GC-02] beyond the threshold finished pods are deleted, evicted and oldest first; 0 keeps them all', async () => {
  const world = createWorld();
  world.api.put(NODES, node('n'));
  const finished = (name: string, day: number, reason?: string): void => {
    const status = { phase: 'Failed', ...(reason === undefined ? {} : { reason }) };
    world.api.put(PODS, pod({ name, creationTimestamp: `2025-12-0${day}T00:00:00Z` }, status, { nodeName: 'n' }));
  };
  finished('b', 2);
  finished('a', 1);
  finished('evicted', 3, 'Evicted');
  finished('c', 4);
  await collector(world, 0).settle();
  assert.equal(names(world).length, 4);
  await collector(world, -1).settle();
  assert.equal(names(world).length, 4);
  await collector(world, 2).settle();
  assert.deepEqual(names(world), ['b', 'c']);
});

test('[GC-02] [SAFE-18] finished pods are counted every 20 s, and 12,500 may stay unless a setting says otherwise', async () => {
  assert.equal(TERMINATED_POD_THRESHOLD_DEFAULT, 12_500);
  const world = createWorld();
  world.api.put(NODES, node('n'));
  const controller = collector(world, 1);
  await controller.settle();
  for (const phase of ['Succeeded', 'Failed', 'Running', 'Pending']) {
    world.api.put(PODS, pod({ name: phase.toLowerCase() }, { phase }, { nodeName: 'n' }));
  }
  world.clock.skip(19_999);
  await controller.settle();
  assert.equal(names(world).length, 4);
  world.clock.skip(1);
  await controller.settle();
  assert.deepEqual(names(world).toSorted(), ['pending', 'running', 'succeeded']);
});

test('a pod held only by finalizers is not deleted again and does not block others', async () => {
  const world = createWorld();
  const held = { ...DELETED, deletionGracePeriodSeconds: 0, finalizers: ['example.com/hold'] };
  for (let i = 0; i < POD_GC_BATCH_PODS; i++) {
    world.api.put(PODS, pod({ name: `held-${i}`, ...held }, { phase: 'Failed' }));
  }
  world.api.put(PODS, pod({ name: 'late', ...DELETED }, { phase: 'Pending' }));
  await collector(world).settle();
  assert.ok(!names(world).includes('late'));
  assert.deepEqual(new Set(world.api.writes.map(({ key }) => key)), new Set(['default/late']));
});

test('[SAFE-19] no threshold disables the removal of orphaned pods', async () => {
  const world = createWorld();
  world.api.put(PODS, pod({ name: 'orphan' }, { phase: 'Running' }, { nodeName: 'gone' }));
  await watchFor(world, collector(world, -1), 60);
  assert.deepEqual(names(world), []);
});

const anyNode = fc.record({
  name: fc.constantFrom('a', 'b'),
  ready: fc.constantFrom('True', 'False', 'Unknown'),
  tainted: fc.boolean(),
});
const anyPod = fc.record({
  name: fc.constantFrom('p', 'q', 'r', 's', 't'),
  node: fc.constantFrom('', 'a', 'b', 'gone'),
  phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed'),
  terminating: fc.boolean(),
});

test('[GC-06] [GC-07] decide deletes only pods with a cause, never a pod whose node may run it', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anyNode, { selector: (n) => n.name }),
      fc.uniqueArray(anyPod, { selector: (p) => p.name }),
      fc.integer({ min: -1, max: 3 }),
      (nodeSpecs, podSpecs, terminatedPodThreshold) => {
        const nodes: Node[] = nodeSpecs.map((n) =>
          node(n.name, { ready: n.ready, taints: n.tainted ? OUT_OF_SERVICE_TAINT : [] }),
        );
        const pods = podSpecs.map((p) =>
          pod({ name: p.name, ...(p.terminating ? DELETED : {}) }, { phase: p.phase }, { nodeName: p.node }),
        );
        const actions = decide(
          { pods, nodes, absentNodes: new Set(['gone']), promiseOf: () => undefined, terminatedPodThreshold },
          NOW,
        );
        assert.equal(new Set(actions.map((action) => nameOf(action.pod))).size, actions.length, 'each pod once');
        for (const { pod: ended, marked, cause } of actions) {
          const on = nodeSpecs.find((n) => n.name === ended.spec.nodeName);
          const mayRun = !isPodFinished(ended) && on !== undefined;
          if (mayRun) assert.ok(isTerminating(ended) && on.ready !== 'True' && on.tainted, 'node is declared dead');
          assert.equal(marked === undefined, isPodFinished(ended));
          if (marked !== undefined) assert.equal(marked.status.phase, 'Failed');
          const told = marked?.status.conditions?.map(({ type, status, reason, message }) => [
            type,
            status,
            reason,
            message,
          ]);
          const target = ['DisruptionTarget', 'True', 'DeletionByPodGC', 'PodGC: node no longer exists'];
          assert.deepEqual(told ?? [], cause === 'orphaned' && marked !== undefined ? [target] : []);
        }
      },
    ),
  );
});
