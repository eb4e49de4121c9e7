import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProcessFact, SimulationFailure } from '@holdfast/testing';
import { SimCluster, type SimClusterOptions } from './cluster.ts';
import { annotate, fencerConfiguration, powerAgent } from './fencing-scene.ts';
import { LOSSY_BUS } from './partition-scenario.ts';
import { forceDelete } from './planted-bugs.ts';
import { QuorumStore } from './quorum-store.ts';
import { createWorkloads } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const NODE_COUNT = 4;
const REPLICAS = 3;
const SET = /^db-\d+$/;
/** Node monitor grace (50 s), toleration (300 s), and some: by then the pods of a silent node are given up. */
const GIVEN_UP_MS = 7 * MINUTE_MS;
const HEAL_DEADLINE_MS = 3 * MINUTE_MS;

interface Scene {
  readonly cluster: SimCluster;
  readonly world: World;
  readonly store: QuorumStore;
  /** The nodes of db-0, db-1, db-2. */
  readonly nodes: readonly [string, string, string];
}

/** Three members on three nodes, and clients that write to them. */
async function setScene(
  options: Omit<SimClusterOptions, 'nodes' | 'identities' | 'observe'>,
  identities = SET,
): Promise<Scene> {
  const facts: { observe?: (fact: ProcessFact) => void } = {};
  const cluster = new SimCluster({
    ...options,
    nodes: NODE_COUNT,
    identities,
    observe: (fact) => facts.observe?.(fact),
  });
  const store = new QuorumStore(cluster, SET);
  facts.observe = (fact) => store.observe(fact);
  const world = new World(cluster);
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  await world.until('the members are up', SETTLE_DEADLINE_MS, () => world.isUp('db', REPLICAS));
  const nodeOf = (name: string): string => world.pod(name).spec.nodeName ?? '';
  const nodes = [nodeOf('db-0'), nodeOf('db-1'), nodeOf('db-2')] as const;
  assert.equal(new Set(nodes).size, REPLICAS, 'each on its own node');
  await cluster.kernel.runFor(5_000);
  assert.ok(store.acknowledged > 0, 'it takes writes');
  return { cluster, world, store, nodes };
}

/** Acknowledged writes of the next while. */
async function writesIn({ cluster, store }: Scene, durationMs: number): Promise<number> {
  const before = store.acknowledged;
  await cluster.kernel.runFor(durationMs);
  return store.acknowledged - before;
}

async function heals(scene: Scene): Promise<void> {
  const { world } = scene;
  const isWhole = (): boolean => world.isUp('db', REPLICAS) && world.readyNodes().length === NODE_COUNT;
  await world.until('it heals', HEAL_DEADLINE_MS, isWhole);
  assert.ok((await writesIn(scene, 10_000)) > 0, 'it takes writes again');
}

for (const [how, options] of [
  ['', {}],
  [', with a bus that loses, doubles and delays', { busQuality: LOSSY_BUS }],
] as const) {
  test(`[TEST-08] [TEST-01] a quorum store loses nothing and continues while the node of a member is cut off, fenced and comes back${how}`, async () => {
    const scene = await setScene({ seed: 21, ...options });
    scene.cluster.network.isolate(scene.nodes[1]);
    assert.ok((await writesIn(scene, GIVEN_UP_MS)) > 0, 'two members are a majority');
    scene.cluster.network.rejoin(scene.nodes[1]);
    await heals(scene);
  });
}

test('[TEST-08] [TEST-01] nor while a member is cut off from the masters only, although it works on', async () => {
  const scene = await setScene({ seed: 22 });
  const { cluster, world, nodes } = scene;
  cluster.cutFromMasters(nodes[1]);
  assert.ok((await writesIn(scene, GIVEN_UP_MS)) > 0);
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.notEqual(world.pod('db-1').metadata.deletionTimestamp, undefined, 'its end was asked for');
  assert.deepEqual(cluster.oracle.nodesOf('default', 'db-1'), [nodes[1]], 'and it is the only one of its name');
  cluster.network.rejoin(nodes[1]);
  await heals(scene);
});

test('[TEST-08] [TEST-02] nor while its members do not reach each other: the majority continues, no member is moved', async () => {
  const scene = await setScene({ seed: 23 });
  const { cluster, world, nodes } = scene;
  const before = world.pods('db').map(({ metadata }) => metadata.uid);
  cutFromNodes(scene, nodes[0]);
  assert.ok((await writesIn(scene, GIVEN_UP_MS)) > 0);
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.deepEqual(
    world.pods('db').map(({ metadata }) => metadata.uid),
    before,
  );
  cluster.network.rejoin(nodes[0]);
  await heals(scene);
});

test('[TEST-08] without a majority it accepts no write, none is elected, and with the majority everything is back', async () => {
  const scene = await setScene({ seed: 24 });
  const { cluster, world, nodes } = scene;
  for (const node of nodes.slice(1)) cluster.network.isolate(node);
  await cluster.kernel.runFor(10_000);
  assert.equal(await writesIn(scene, GIVEN_UP_MS), 0, 'one member is none');
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.deepEqual(
    ['db-1', 'db-2'].map((name) => world.pod(name).spec.nodeName),
    nodes.slice(1),
  );
  for (const node of nodes.slice(1)) cluster.network.rejoin(node);
  await heals(scene);
});

test('[TEST-08] [FENCE-07] with a fencer the member of a dead machine is replaced elsewhere while writes continue', async () => {
  const scene = await setScene({ seed: 25 });
  const { cluster, world, nodes } = scene;
  const agent = powerAgent(cluster);
  const agents = new Map([[agent.name, agent]]);
  cluster.startFencer({
    party: 'fencer',
    holder: 'fencer',
    configuration: fencerConfiguration(agent.name, 'node', {}),
    agents,
  });
  cluster.powerOff(nodes[2]);
  const isElsewhere = (): boolean => world.isUp('db', REPLICAS) && world.pod('db-2').spec.nodeName !== nodes[2];
  const writes = writesIn.bind(undefined, scene);
  assert.ok((await writes(MINUTE_MS)) > 0);
  await world.until('db-2 is back', 4 * MINUTE_MS, isElsewhere);
  assert.ok((await writes(10_000)) > 0);
  await annotate(cluster, nodes[2], { 'fencing/unfence': 'true' });
  await heals(scene);
});

/** The node does not reach the others, nor they it; everybody reaches the masters and is reached by users. */
function cutFromNodes({ cluster }: Scene, node: string): void {
  for (const other of cluster.nodeNames.filter((name) => name !== node)) {
    cluster.network.block(node, other);
    cluster.network.block(other, node);
  }
}

/** db-1 is lost to the masters. While it is, now db-0 and now db-2 is alone: every majority has db-1 in it. */
async function changingMajorities(scene: Scene): Promise<number> {
  const { cluster, store, nodes } = scene;
  const before = store.acknowledged;
  cluster.cutFromMasters(nodes[1]);
  await cluster.kernel.runFor(GIVEN_UP_MS);
  for (let turn = 0; turn < TURNS; turn++) {
    const alone = turn % 2 === 0 ? nodes[0] : nodes[2];
    cutFromNodes(scene, alone);
    await cluster.kernel.runFor(TURN_MS);
    cluster.network.rejoin(alone);
  }
  return store.acknowledged - before;
}

const TURNS = 10;
const TURN_MS = 6_000;

test('[TEST-08] [TEST-02] nor while the majority changes and the masters have fenced the member that is in all majorities', async () => {
  const scene = await setScene({ seed: 26 });
  assert.ok((await changingMajorities(scene)) > 0);
  assert.deepEqual(scene.cluster.oracle.nodesOf('default', 'db-1'), [scene.nodes[1]]);
  scene.cluster.network.rejoin(scene.nodes[1]);
  await heals(scene);
});

test('[TEST-08] [TEST-07] planted bug: with two members of one name the store loses acknowledged writes, and the loss is detected', async () => {
  const planted = { podEviction: forceDelete, ownershipRule: 'off' } as const;
  let found = 0;
  for (const seed of [26, 27, 28, 29, 30]) {
    // No oracle watches the identities here: the application itself must show the harm.
    const scene = await setScene({ seed, ...planted }, /^$/);
    await changingMajorities(scene).catch((error: unknown) => {
      if (!(error instanceof SimulationFailure && error.oracle === scene.store.name)) throw error;
      found++;
    });
  }
  assert.ok(found > 0, 'no seed found it');
});
