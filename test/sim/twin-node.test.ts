import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES, type Pod } from '@holdfast/api';
import { SimulationFailure } from '@holdfast/testing';
import { SimCluster, type SimClusterOptions } from './cluster.ts';
import { createWorkloads } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const NODE_COUNT = 3;
const REPLICAS = 2;
const SEEDS = [1, 2, 3];
const PET = { namespace: 'default', name: 'db-1' } as const;
const MINUTE_MS = 60_000;
const KINDS = [
  ['a twin with a disk of its own', false],
  ['a clone with a copied disk', true],
] as const;

interface Scene {
  readonly cluster: SimCluster;
  readonly world: World;
  readonly pet: Pod;
  /** The node of the pet. */
  readonly node: string;
}

async function setScene(seed: number, options: Partial<SimClusterOptions> = {}): Promise<Scene> {
  const cluster = new SimCluster({ seed, nodes: NODE_COUNT, identities: /^db-\d+$/, ...options });
  const world = new World(cluster);
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  const isUp = (): boolean => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS);
  await world.until('both workloads are up', SETTLE_DEADLINE_MS, isUp);
  const pet = world.pod(PET.name);
  return { cluster, world, pet, node: pet.spec.nodeName ?? '' };
}

const livesOf = ({ cluster }: Scene): readonly string[] => cluster.oracle.nodesOf(PET.namespace, PET.name);

for (const seed of SEEDS) {
  for (const [what, copiedDisk] of KINDS) {
    test(`[SAFE-22] [SAFE-31] ${what} joins under the name of a node that is cut off: it adopts no pod, and the node returns unchanged (seed ${seed})`, async () => {
      const scene = await setScene(seed);
      const { cluster, world, node, pet } = scene;
      cluster.cutFromMasters(node);
      cluster.joinTwin(node, { copiedDisk });
      await cluster.kernel.runFor(10 * MINUTE_MS);
      await world.until('a look', SETTLE_DEADLINE_MS, () => true);
      assert.deepEqual(livesOf(scene), [node], 'one life, on the machine that had it');
      assert.equal(world.readyNodes().includes(node), false, 'the other machine does not speak for the node');
      assert.equal(world.pod(PET.name).metadata.uid, pet.metadata.uid);
      cluster.network.rejoin(node);
      await world.until('the node is back', 3 * MINUTE_MS, () => world.readyNodes().includes(node));
      await world.until('pet 1 runs', 5 * MINUTE_MS, () => world.isUp('db', REPLICAS) && livesOf(scene).length === 1);
      assert.equal(livesOf(scene)[0]?.endsWith('-twin'), false);
    });
  }

  test(`[SAFE-31] ${KINDS[0][0]} joins while the node lives: nothing changes for the node (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, node, pet } = scene;
    cluster.joinTwin(node, { copiedDisk: false });
    await cluster.kernel.runFor(5 * MINUTE_MS);
    await world.until('a look', SETTLE_DEADLINE_MS, () => true);
    assert.ok(world.readyNodes().includes(node));
    assert.deepEqual([livesOf(scene), world.pod(PET.name).metadata.uid], [[node], pet.metadata.uid]);
  });

  test(`[SAFE-31] [SAFE-17] the Node is deleted and another machine takes the name: it is admitted, and the old machine ends its pods (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, node } = scene;
    cluster.cutFromMasters(node);
    const { party } = cluster.joinTwin(node, { copiedDisk: false });
    await cluster.kernel.runFor(2 * MINUTE_MS);
    cluster.oracle.release(PET.namespace, PET.name);
    await cluster.ask(cluster.admin.delete(NODES, { name: node }));
    const runsAnew = (): boolean => world.isUp('db', REPLICAS) && livesOf(scene).some((place) => place !== node);
    await world.until('the other machine is the node, and the pet runs', 5 * MINUTE_MS, () => {
      return world.readyNodes().includes(node) && runsAnew();
    });
    assert.ok(livesOf(scene).includes(node), 'out of reach the old life goes on');
    cluster.network.rejoin(node);
    await world.until('the old machine has ended its pet', 5 * MINUTE_MS, () => !livesOf(scene).includes(node));
    assert.equal(livesOf(scene).length, 1);
    assert.ok(world.readyNodes().includes(node), 'the other machine stays');
    assert.ok(party.startsWith(node));
  });

  test(`[SAFE-31] [SAFE-17] after the same, the cut-off kubelet of the old machine restarts: it still ends its pods (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, node } = scene;
    cluster.cutFromMasters(node);
    cluster.joinTwin(node, { copiedDisk: false });
    await cluster.kernel.runFor(2 * MINUTE_MS);
    cluster.oracle.release(PET.namespace, PET.name);
    await cluster.ask(cluster.admin.delete(NODES, { name: node }));
    await world.until('the other machine is the node, and the pet runs', 5 * MINUTE_MS, () => {
      return world.readyNodes().includes(node) && livesOf(scene).some((place) => place !== node);
    });
    cluster.restartKubelet(node);
    await cluster.kernel.runFor(MINUTE_MS);
    assert.ok(livesOf(scene).includes(node), 'the container outlives its kubelet');
    cluster.network.rejoin(node);
    await world.until('the old machine has ended its pet', 5 * MINUTE_MS, () => !livesOf(scene).includes(node));
    assert.equal(livesOf(scene).length, 1);
    assert.ok(world.readyNodes().includes(node), 'the other machine stays');
  });

  test(`[SAFE-31] a machine that lost its power boots again and is the same node, without manual help (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, node } = scene;
    cluster.powerOff(node);
    await cluster.kernel.runFor(5_000);
    cluster.powerOn(node);
    await world.until(
      'it runs what it ran',
      3 * MINUTE_MS,
      () => world.readyNodes().includes(node) && world.isUp('db', REPLICAS) && livesOf(scene).join() === node,
    );
  });
}

test('planted: when kubelets send no incarnation, a twin runs the pet a second time', async () => {
  const scene = await setScene(1, { nodeIncarnations: 'off' });
  const { cluster, node } = scene;
  cluster.cutFromMasters(node);
  cluster.joinTwin(node, { copiedDisk: true });
  const violated = (error: unknown): boolean =>
    error instanceof SimulationFailure && error.oracle === 'at-most-one per identity';
  await assert.rejects(cluster.kernel.runFor(10 * MINUTE_MS), violated);
});
