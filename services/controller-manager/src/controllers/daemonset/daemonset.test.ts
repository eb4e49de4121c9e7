import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONTROLLER_REVISIONS,
  DAEMON_SETS,
  type DaemonSet,
  isPodReady,
  NODES,
  PODS,
  SELF_FENCED,
  SELF_FENCED_REASONS,
} from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import fc from 'fast-check';
import { compareText, isTerminating, keyOf, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { daemonSet, node, pod, podTemplate } from '../../testing/builders.ts';
import { createWorld, DrivenController, settleAll, type World } from '../../testing/harness.ts';
import { decide } from './decide.ts';
import { daemonSetController } from './index.ts';
import { targetNode } from './placement.ts';

const AGENT = { namespace: 'default', name: 'agent' };
const NOW = 1_767_225_600_000;

async function worldWith(
  set: DaemonSet,
  nodes: readonly string[],
): Promise<{ world: World; controller: DrivenController }> {
  const world = createWorld();
  for (const name of nodes) world.api.put(NODES, node(name));
  await world.api.client('user').create(DAEMON_SETS, set);
  return { world, controller: new DrivenController(world, daemonSetController) };
}

/** Every pod is bound to its node and ready; every terminating one has ended. */
function runNodes(world: World): void {
  for (const one of world.api.list(PODS)) {
    if (isTerminating(one)) world.api.drop(PODS, targetOf(one));
    else if (one.status.phase === undefined) {
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
      world.api.put(PODS, {
        ...one,
        spec: { ...one.spec, nodeName: targetNode(one) ?? '' },
        status: { phase: 'Running', conditions },
      });
    }
  }
}

async function run(
  world: World,
  controllers: readonly DrivenController[],
  check: () => void = () => {},
): Promise<void> {
  for (let round = 0; round < 40; round++) {
    const before = world.api.writes.length;
    await settleAll(controllers);
    check();
    runNodes(world);
    world.clock.skip(11_000);
    await settleAll(controllers);
    check();
    if (world.api.writes.length === before) return;
  }
  assert.fail('never quiet');
}

const nodesWithPods = (world: World): readonly string[] =>
  world.api
    .list(PODS)
    .map((one) => targetNode(one) ?? '')
    .sort(compareText);

test('[POD-14] one pod per node, pinned to it, with matching counts; added and removed nodes are followed', async () => {
  const { world, controller } = await worldWith(daemonSet(), ['a', 'b']);
  await run(world, [controller]);
  assert.deepEqual(nodesWithPods(world), ['a', 'b']);
  world.api.put(NODES, node('c'));
  await run(world, [controller]);
  assert.deepEqual(nodesWithPods(world), ['a', 'b', 'c']);
  assert.deepEqual(world.api.get(DAEMON_SETS, AGENT).status, {
    currentNumberScheduled: 3,
    desiredNumberScheduled: 3,
    numberAvailable: 3,
    numberMisscheduled: 0,
    numberReady: 3,
    observedGeneration: 1,
    updatedNumberScheduled: 3,
  });
});

test('selector, affinity and taints select nodes; NoSchedule blocks new pods, only NoExecute evicts', async () => {
  const template = podTemplate({ app: 'agent' });
  const { world, controller } = await worldWith(
    daemonSet({ template: { ...template, spec: { ...template.spec, nodeSelector: { disk: 'ssd' } } } }),
    ['plain'],
  );
  const ssd = { labels: { disk: 'ssd' } };
  world.api.put(NODES, node('ssd', ssd));
  world.api.put(
    NODES,
    node('cordoned', { ...ssd, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] }),
  );
  world.api.put(
    NODES,
    node('lost', { ...ssd, taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] }),
  );
  world.api.put(NODES, node('theirs', { ...ssd, taints: [{ key: 'team', value: 'x', effect: 'NoSchedule' }] }));
  await run(world, [controller]);
  assert.deepEqual(nodesWithPods(world), ['cordoned', 'lost', 'ssd']);
  const taint = (effect: string): void => {
    const stored = world.api.get(NODES, { name: 'ssd' });
    world.api.put(NODES, { ...stored, spec: { taints: [{ key: 'team', value: 'x', effect }] } });
  };
  taint('NoSchedule');
  await run(world, [controller]);
  assert.ok(nodesWithPods(world).includes('ssd'));
  assert.equal(world.api.get(DAEMON_SETS, AGENT).status.numberMisscheduled, 1);
  taint('NoExecute');
  await run(world, [controller]);
  assert.deepEqual(nodesWithPods(world), ['cordoned', 'lost']);
});

test('a requirement that no node can satisfy excludes all nodes', async () => {
  const template = podTemplate({ app: 'agent' });
  const matchExpressions = [{ key: 'disk', operator: 'NotIn', values: ['not a label!'] }];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  const { world, controller } = await worldWith(
    daemonSet({ template: { ...template, spec: { ...template.spec, affinity } } }),
    ['a'],
  );
  await run(world, [controller]);
  assert.deepEqual(nodesWithPods(world), []);
});

test('an explicit collision count of zero is kept', async () => {
  const { world, controller } = await worldWith(daemonSet(), ['a']);
  const stored = world.api.get(DAEMON_SETS, AGENT);
  world.api.put(DAEMON_SETS, { ...stored, status: { ...stored.status, collisionCount: 0 } });
  await run(world, [controller]);
  const { status } = world.api.get(DAEMON_SETS, AGENT);
  assert.deepEqual([status.collisionCount, status.numberReady], [0, 1]);
});

for (const rollingUpdate of [
  { maxUnavailable: 2, maxSurge: 0 },
  { maxUnavailable: 0, maxSurge: 1 },
]) {
  test(`[POD-16] an update keeps its bounds: ${JSON.stringify(rollingUpdate)}`, async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const { world, controller } = await worldWith(
      daemonSet({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } }),
      names,
    );
    await run(world, [controller]);
    const old = world.api.get(DAEMON_SETS, AGENT);
    const template = podTemplate({ app: 'agent' }, 'agent:2');
    world.api.put(DAEMON_SETS, {
      ...old,
      metadata: { ...old.metadata, generation: 2 },
      spec: { ...old.spec, template },
    });
    await run(world, [controller], () => {
      const serving = world.api.list(PODS).filter((p) => isPodReady(p) && !isTerminating(p));
      assert.ok(new Set(serving.map(targetNode)).size >= names.length - rollingUpdate.maxUnavailable, 'available');
      const extra = world.api.list(PODS).filter((p) => !isTerminating(p)).length - names.length;
      assert.ok(extra <= rollingUpdate.maxSurge, 'surge');
    });
    assert.deepEqual(
      world.api.list(PODS).map((p) => p.spec.containers[0]?.image),
      names.map(() => 'agent:2'),
    );
  });
}

test('a template that is replaced during a surge gives its place to the next one', async () => {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
  const { world, controller } = await worldWith(daemonSet({ updateStrategy }), ['a', 'b']);
  await run(world, [controller]);
  const rollTo = (image: string): void => {
    const old = world.api.get(DAEMON_SETS, AGENT);
    world.api.put(DAEMON_SETS, { ...old, spec: { ...old.spec, template: podTemplate({ app: 'agent' }, image) } });
  };
  rollTo('agent:broken');
  await controller.settle();
  const surge = world.api.list(PODS).filter((one) => one.spec.containers[0]?.image === 'agent:broken');
  assert.equal(surge.length, 1);
  for (const one of surge) {
    const nodeName = targetNode(one) ?? '';
    world.api.put(PODS, { ...one, spec: { ...one.spec, nodeName }, status: { phase: 'Running', conditions: [] } });
  }
  rollTo('agent:2');
  await run(world, [controller], () => {
    const serving = world.api.list(PODS).filter((one) => isPodReady(one) && !isTerminating(one));
    assert.equal(new Set(serving.map(targetNode)).size, 2, 'every node is served all the time');
  });
  const images = world.api.list(PODS).map((one) => one.spec.containers[0]?.image);
  assert.deepEqual(images, ['agent:2', 'agent:2']);
});

test('every template becomes a revision; a reused one becomes the newest; the oldest beyond the limit are deleted', async () => {
  const { world, controller } = await worldWith(daemonSet({ revisionHistoryLimit: 1 }), ['a']);
  const rollTo = async (image: string): Promise<void> => {
    const old = world.api.get(DAEMON_SETS, AGENT);
    const generation = (old.metadata.generation ?? 0) + 1;
    const spec = { ...old.spec, template: podTemplate({ app: 'agent' }, image) };
    world.api.put(DAEMON_SETS, { ...old, metadata: { ...old.metadata, generation }, spec });
    await run(world, [controller]);
  };
  const numbers = (): readonly number[] =>
    world.api
      .list(CONTROLLER_REVISIONS)
      .map((each) => each.revision)
      .toSorted((a, b) => a - b);
  await run(world, [controller]);
  const [first] = world.api.list(CONTROLLER_REVISIONS);
  assert.deepEqual(first?.metadata.labels?.['app'], 'agent');
  await rollTo('agent:2');
  assert.deepEqual(numbers(), [1, 2]);
  await rollTo('agent:1');
  assert.deepEqual(numbers(), [2, 3]);
  await rollTo('agent:3');
  assert.deepEqual(numbers(), [3, 4]);
});

test('a revision that another client created for the current template is the current one', async () => {
  const { world, controller } = await worldWith(daemonSet(), ['a']);
  await run(world, [controller]);
  const [own] = world.api.list(CONTROLLER_REVISIONS);
  assert.ok(own !== undefined);
  world.api.put(CONTROLLER_REVISIONS, {
    ...own,
    metadata: { ...own.metadata, name: 'copy', uid: 'copy' },
    revision: own.revision + 1,
  });
  world.api.drop(CONTROLLER_REVISIONS, { namespace: 'default', name: own.metadata.name ?? '' });
  await run(world, [controller]);
  assert.deepEqual(
    world.api.list(CONTROLLER_REVISIONS).map(({ metadata, revision }) => [metadata.name, revision]),
    [['copy', 2]],
  );
});

test('no second pod is created on a node while the first is terminating', async () => {
  const { world, controller } = await worldWith(daemonSet(), ['a']);
  await run(world, [controller]);
  const [first] = world.api.list(PODS);
  assert.ok(first);
  await world.api.client('user').delete(PODS, targetOf(first));
  await controller.settle();
  assert.deepEqual(world.api.list(PODS).map(uidOf), [uidOf(first)]);
  await run(world, [controller]);
  assert.deepEqual(nodesWithPods(world), ['a']);
  assert.notEqual(uidOf(world.api.list(PODS)[0] ?? first), uidOf(first));
});

test('a failed pod is replaced after a back-off', async () => {
  const { world, controller } = await worldWith(daemonSet(), ['a']);
  await controller.settle();
  const [first] = world.api.list(PODS);
  assert.ok(first);
  world.api.put(PODS, { ...first, spec: { ...first.spec, nodeName: 'a' }, status: { phase: 'Failed' } });
  await controller.settle();
  assert.equal(uidOf(world.api.list(PODS)[0] ?? first), uidOf(first));
  await run(world, [controller]);
  assert.notEqual(uidOf(world.api.list(PODS)[0] ?? first), uidOf(first));
});

test('[SAFE-15] lost answers and a second manager: never two live pods on a node, graceful deletions only', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.integer({ min: 1, max: 12 }), counts: fc.boolean() }), { maxLength: 5 }),
      async (faults) => {
        const { world, controller } = await worldWith(daemonSet(), ['a', 'b', 'c']);
        const other = new DrivenController(world, daemonSetController, world.api.newInformers());
        world.api.cache(PODS).freeze();
        let writes = 0;
        const broken: string[] = [];
        const hit = (counts: boolean): boolean => faults.some((f) => f.at === writes && f.counts === counts);
        world.api.beforeWrite = (write) => {
          if (write.request?.gracePeriodSeconds === 0) broken.push(`grace 0 on ${write.key}`);
          writes++;
          if (hit(false)) throw new TransportError('request lost');
        };
        world.api.afterWrite = () => {
          const living = world.api.list(PODS).filter((p) => !isTerminating(p));
          if (new Set(living.map(targetNode)).size !== living.length)
            broken.push(`two on a node after write ${writes}`);
          if (hit(true)) throw new TransportError('answer lost');
        };
        for (let turn = 0; turn < 20; turn++) for (const one of [controller, other]) await one.step();
        world.api.cache(PODS).thaw();
        await run(world, [controller, other]);
        assert.deepEqual(nodesWithPods(world), ['a', 'b', 'c']);
        world.api.put(NODES, node('c', { taints: [{ key: 'example.com/drained', effect: 'NoExecute' }] }));
        await run(world, [controller, other]);
        assert.deepEqual(nodesWithPods(world), ['a', 'b'], 'the pod of a node that it does not tolerate goes');
        assert.deepEqual(broken, []);
      },
    ),
    { numRuns: 40 },
  );
});

test('decide touches no pod of another owner', () => {
  const owner = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid, controller: true }];
  const anyPod = fc.record({
    name: fc.constantFrom('p', 'q', 'r'),
    uid: fc.constantFrom('ours', 'other'),
    on: fc.constantFrom('a', 'gone'),
  });
  fc.assert(
    fc.property(fc.uniqueArray(anyPod, { selector: (p) => p.name }), (specs) => {
      const pods = specs.map((p) =>
        pod(
          { name: p.name, uid: p.name, labels: { app: 'agent' }, ownerReferences: owner(p.uid) },
          { phase: 'Running' },
          { nodeName: p.on },
        ),
      );
      const set = { ...daemonSet(), metadata: { ...AGENT, uid: 'ours' } };
      for (const action of decide({ set, nodes: [node('a')], pods, caughtUp: true, avoidedNames: new Set() }, NOW)) {
        if (action.type !== 'create-pod')
          assert.equal(action.pod.metadata.ownerReferences?.[0]?.uid, 'ours', `${action.type} ${keyOf(action.pod)}`);
        else assert.ok(!specs.some((p) => p.name === nameOf(action.pod)));
      }
    }),
  );
});

for (const [covered, reason, wanted] of [
  ['its pods are released', SELF_FENCED_REASONS.all, ['a']],
  ['only exclusive pods are released, and its are not', SELF_FENCED_REASONS.exclusive, ['a', 'b']],
] as const) {
  test(`a node whose promise expired (${covered}): pods are created for it when they can stay`, async () => {
    const set = daemonSet();
    const fenced = node('b');
    const world = createWorld();
    world.api.put(NODES, node('a'));
    const condition = { type: SELF_FENCED, status: 'True', reason };
    world.api.put(NODES, { ...fenced, status: { ...fenced.status, conditions: [condition] } });
    await world.api.client('user').create(DAEMON_SETS, set);
    const controller = new DrivenController(world, daemonSetController);
    await run(world, [controller]);
    assert.deepEqual(nodesWithPods(world), wanted);
    world.api.put(NODES, { ...fenced, status: { ...fenced.status, conditions: [{ ...condition, status: 'False' }] } });
    await run(world, [controller]);
    assert.deepEqual(nodesWithPods(world), ['a', 'b'], 'when the node promises again');
  });
}
