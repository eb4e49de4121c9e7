import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Affinity, DEPLOYMENTS, NODES, POD_DISRUPTION_BUDGETS, PODS, type Pod, podCondition } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { SimCluster } from './cluster.ts';
import { isReady } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const NODE_COUNT = 3;
const [ONE, TWO, THREE] = ['node-1', 'node-2', 'node-3'] as const;
/** Two of these fill a node. */
const CPU = '14';
const SECONDS_TO_STOP = '60';
const REFUSED = 429;
const RETRY_MS = 5_000;
/** A pod is available when the test says so. */
const GATE = 'example.com/available';
const BUDGET = { namespace: 'default', name: 'web' };

const hostname = (operator: string, node: string) => ({
  matchExpressions: [{ key: 'kubernetes.io/hostname', operator, values: [node] }],
});
const PREFERS_TWO: Affinity = {
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: hostname('In', TWO) }],
  },
};
const NOT_ON_TWO: Affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [hostname('NotIn', TWO)] },
  },
};

const nameOf = ({ metadata }: Pod): string => metadata.name ?? '';
const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

class Scene {
  readonly cluster = new SimCluster({ seed: 1, nodes: NODE_COUNT, identities: /^none$/ });
  readonly world = new World(this.cluster);

  until(what: string, holds: () => boolean): Promise<void> {
    return this.world.until(what, 2 * MINUTE_MS, holds);
  }

  createApp(name: string, affinity: Affinity): Promise<unknown> {
    const labels = { app: name };
    const container = {
      name: 'main',
      image: 'busybox',
      command: ['stop-after', SECONDS_TO_STOP],
      resources: { requests: { cpu: CPU } },
    };
    const spec = {
      containers: [container],
      affinity,
      readinessGates: [{ conditionType: GATE }],
      terminationGracePeriodSeconds: 100,
    };
    return this.cluster.ask(
      this.cluster.admin.create(DEPLOYMENTS, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace: 'default', name },
        spec: {
          replicas: 0,
          strategy: {},
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec },
        },
        status: {},
      }),
    );
  }

  /** One more pod of the app, on the only node that takes pods, and available. */
  async addPod(app: string, node: string): Promise<string> {
    for (const each of this.cluster.nodeNames) await this.cordon(each, each !== node);
    const known = new Set(this.world.pods(app).map(nameOf));
    const body = { spec: { replicas: known.size + 1 } };
    await this.cluster.ask(
      this.cluster.admin.patch(DEPLOYMENTS, { namespace: 'default', name: app }, { type: 'merge', body }),
    );
    const name = nameOf(await this.newcomer(app, known, (pod) => pod.spec.nodeName === node));
    await this.allow(name);
    return name;
  }

  async newcomer(app: string, known: ReadonlySet<string>, isIt: (pod: Pod) => boolean): Promise<Pod> {
    const find = (): Pod | undefined => this.world.pods(app).find((pod) => !known.has(nameOf(pod)) && isIt(pod));
    await this.until(`a new pod of ${app}`, () => find() !== undefined);
    return find() ?? assert.fail();
  }

  async cordon(name: string, unschedulable: boolean): Promise<void> {
    const patch = { type: 'merge', body: { spec: { unschedulable } } } as const;
    await this.cluster.ask(this.cluster.admin.patch(NODES, { name }, patch));
    const isTainted = (): boolean =>
      this.world.findNode(name)?.spec.taints?.some(({ key }) => key === 'node.kubernetes.io/unschedulable') === true;
    await this.until(`the taint of ${name}`, () => isTainted() === unschedulable);
  }

  async allow(name: string): Promise<void> {
    const isRunning = (): boolean => podCondition(this.world.pod(name), 'ContainersReady')?.status === 'True';
    await this.until(`${name} runs`, isRunning);
    assert.ok(!isReady(this.world.pod(name)), 'it is still starting');
    const body = { status: { conditions: [{ type: GATE, status: 'True' }] } };
    const patch = { type: 'strategic', body, subresource: 'status' } as const;
    await this.cluster.ask(this.cluster.admin.patch(PODS, { namespace: 'default', name }, patch));
    await this.until(`${name} is available`, () => isReady(this.world.pod(name)));
  }

  /** What the API answers: 201, or why not. */
  async evict(name: string): Promise<number> {
    try {
      await this.cluster.ask(this.cluster.admin.evict({ namespace: 'default', name }));
      return 201;
    } catch (error) {
      if (error instanceof StatusError) return error.code;
      throw error;
    }
  }

  async evictAgain(name: string, forMs: number): Promise<void> {
    const { kernel } = this.cluster;
    for (const endAt = kernel.elapsedMs + forMs; kernel.elapsedMs < endAt; await kernel.runFor(RETRY_MS))
      assert.equal(await this.evict(name), REFUSED);
  }

  async budgetIs(...expected: readonly number[]): Promise<void> {
    await this.cluster.kernel.runFor(RETRY_MS);
    const { status } = await this.cluster.ask(this.cluster.admin.get(POD_DISRUPTION_BUDGETS, BUDGET));
    const { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed } = status;
    assert.deepEqual([expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed], expected);
  }

  podsOn(node: string): readonly string[] {
    return this.world
      .allPods()
      .filter(({ spec }) => spec.nodeName === node)
      .map(nameOf);
  }
}

/** a and x on node-1, b on node-2, c on node-3. */
async function setScene(): Promise<{ scene: Scene; a: string; b: string; c: string; x: string }> {
  const scene = new Scene();
  const { cluster, world } = scene;
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  await scene.createApp('web', PREFERS_TWO);
  await scene.createApp('other', NOT_ON_TWO);
  const a = await scene.addPod('web', ONE);
  const b = await scene.addPod('web', TWO);
  const c = await scene.addPod('web', THREE);
  const x = await scene.addPod('other', ONE);
  for (const node of cluster.nodeNames) await scene.cordon(node, false);
  await cluster.ask(
    cluster.admin.create(POD_DISRUPTION_BUDGETS, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { ...BUDGET },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
      status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
    }),
  );
  return { scene, a, b, c, x };
}

test('[DISR-13] [DISR-14] [DISR-19] [DISR-20] [DISR-21] [DISR-23] [DISR-24] [DISR-25] nodes are drained at the pace of a budget, and a pod without one at once', async () => {
  const { scene, a, b, c, x } = await setScene();
  const { world } = scene;
  assert.deepEqual(
    [ONE, TWO, THREE].map((node) => scene.podsOn(node).toSorted()),
    [[a, x].toSorted(), [b], [c]],
  );
  await scene.budgetIs(3, 3, 2, 1);

  // Step 1: both pods of node-1 are on their way out at once.
  await scene.cordon(ONE, true);
  assert.deepEqual([await scene.evict(a), await scene.evict(x)], [201, 201]);
  await scene.until('a and x terminate', () => [a, x].every((name) => isTerminating(world.pod(name))));
  for (const name of [a, x])
    assert.equal(podCondition(world.pod(name), 'DisruptionTarget')?.reason, 'EvictionByEvictionAPI');

  // Step 2: their replacements are placed while they still end.
  const d = nameOf(await scene.newcomer('web', new Set([a, b, c]), ({ spec }) => spec.nodeName === TWO));
  const y = nameOf(await scene.newcomer('other', new Set([x]), ({ spec }) => spec.nodeName === THREE));
  assert.ok(
    [a, x].every((name) => isTerminating(world.pod(name))),
    'the old ones have not ended yet',
  );

  // Step 3: node-1 is empty, and as long as d is not available nobody else may go.
  await scene.until('node-1 is empty', () => scene.podsOn(ONE).length === 0);
  await scene.allow(y);
  await scene.budgetIs(3, 2, 2, 0);
  for (const name of [b, c]) assert.equal(await scene.evict(name), REFUSED);

  // Step 4: then one of node-2 may go, and the other has to stay.
  await scene.allow(d);
  await scene.budgetIs(3, 3, 2, 1);
  await scene.cordon(TWO, true);
  assert.equal(await scene.evict(b), 201);
  assert.equal(await scene.evict(d), REFUSED);

  // Step 5: its replacement finds no room, so the drain goes on being refused until there is a node.
  const e = nameOf(
    await scene.newcomer('web', new Set([a, b, c, d]), (pod) => podCondition(pod, 'PodScheduled')?.status === 'False'),
  );
  assert.ok(isTerminating(world.pod(b)));
  await scene.evictAgain(d, 2 * MINUTE_MS);
  assert.deepEqual([world.pod(e).spec.nodeName, world.pod(e).status.phase], [undefined, 'Pending']);
  assert.deepEqual([scene.podsOn(ONE), scene.podsOn(TWO)], [[], [d]]);
  assert.deepEqual(scene.podsOn(THREE).toSorted(), [c, y].toSorted());
  await scene.cordon(ONE, false);
  await scene.until('e is placed', () => world.pod(e).spec.nodeName === ONE);
  assert.equal(await scene.evict(d), REFUSED, 'it is not available yet');
  await scene.allow(e);
  await scene.budgetIs(3, 3, 2, 1);
  assert.equal(await scene.evict(d), 201);
  await scene.until('node-2 is empty', () => scene.podsOn(TWO).length === 0);
});
