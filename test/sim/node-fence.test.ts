import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODES, PODS, type Pod } from '@holdfast/api';
import { MemoryAgent } from '@holdfast/fencer/memory-agent';
import { SimCluster } from './cluster.ts';
import {
  annotate,
  type FenceRuleFile,
  fencedOf,
  fencedText,
  fenceEvents,
  fencerConfiguration,
  isOutOfService,
  powerAgent,
} from './fencing-scene.ts';
import { History } from './history.ts';
import { createWorkloads, isReady } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const NODE_COUNT = 4;
const DB = 'db-0';

interface Scene {
  readonly cluster: SimCluster;
  readonly world: World;
  readonly agent: MemoryAgent;
  readonly pod: Pod;
  readonly lost: string;
}

interface SceneOptions extends FenceRuleFile {
  readonly seed: number;
  /** Names of the fencers; each is a process of its own. */
  readonly fencers?: readonly string[];
}

const startFencer = (
  { cluster, agent }: Pick<Scene, 'cluster' | 'agent'>,
  options: FenceRuleFile & { party: string; holder?: string },
): void =>
  cluster.startFencer({
    party: options.party,
    holder: options.holder ?? options.party,
    configuration: fencerConfiguration(agent.name, 'node', options),
    agents: new Map([[agent.name, agent]]),
  });

/** A StatefulSet of one pod; the node of that pod is about to be lost. */
async function setScene({ seed, fencers = ['fencer'], ...rule }: SceneOptions): Promise<Scene> {
  const cluster = new SimCluster({ seed, nodes: NODE_COUNT, identities: /^db-\d+$/ });
  const world = new World(cluster);
  const agent = powerAgent(cluster);
  cluster.start();
  for (const party of fencers) startFencer({ cluster, agent }, { ...rule, party });
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  cluster.background(createWorkloads(cluster.admin, 1));
  await world.until('both workloads are up', SETTLE_DEADLINE_MS, () => world.isUp('db', 1) && world.isUp('web', 1));
  const pod = world.pod(DB);
  return { cluster, world, agent, pod, lost: pod.spec.nodeName ?? '' };
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';

const look = ({ world }: Scene): Promise<void> => world.until('a look', SETTLE_DEADLINE_MS, () => true);

/** Another pod, ready, and on another node. */
function hasRecovered({ world, pod, lost }: Scene): boolean {
  const now = world.findPod(DB);
  return now !== undefined && uidOf(now) !== uidOf(pod) && isReady(now) && now.spec.nodeName !== lost;
}

const effectsOf = ({ agent }: Scene): readonly string[] =>
  agent.effects.map(({ action, node }) => `${action} ${node.name}`);

for (const seed of [1, 2, 3]) {
  test(`[FENCE-02] [FENCE-03] [FENCE-07] [FENCE-11] a lost node is fenced, its identity runs elsewhere within the promised time (seed ${seed})`, async () => {
    const scene = await setScene({ seed, afterSeconds: 60 });
    const { cluster, world, lost } = scene;
    const lostAtMs = cluster.kernel.elapsedMs;
    const history = new History(cluster);
    history.follow(NODES, (node) =>
      node.metadata.name === lost ? `${fencedOf(node)?.status} ${fencedOf(node)?.reason}` : '',
    );
    history.follow(PODS, ({ metadata: { name } }, isGone) => (isGone ? `${name} is gone` : ''));
    cluster.network.isolate(lost);
    await world.until('db runs elsewhere', 10 * MINUTE_MS, () => hasRecovered(scene));
    const takenSeconds = (cluster.kernel.elapsedMs - lostAtMs) / 1000;
    const note = JSON.parse(world.findNode(lost)?.metadata.annotations?.['fencing/claim'] ?? '{}') as {
      boundSeconds?: number;
    };
    assert.equal(note.boundSeconds, 50 + 60 + 30, 'monitor grace, policy, agent');
    assert.ok(takenSeconds <= note.boundSeconds, `${takenSeconds} s`);
    history.assertOrder('False PartitionDetected', 'Unknown FencingStarted', 'True NodeFenced', 'db-0 is gone');
    history.stop();
    assert.equal(fencedText(world, lost), 'True NodeFenced');
    assert.ok(isOutOfService(world, lost));
    assert.deepEqual(effectsOf(scene), [`fence ${lost}`]);
    await cluster.kernel.runFor(MINUTE_MS);
    assert.deepEqual(await fenceEvents(cluster, lost), ['FencingStarted', 'FencingSucceeded']);
  });
}

test('[FENCE-06] while the agent fails or works, pods, node and identity are unchanged; the request is retried until it confirms', async () => {
  const scene = await setScene({ seed: 5, afterSeconds: 30 });
  const { cluster, world, agent, pod, lost } = scene;
  agent.failure = new Error('the power unit does not answer');
  cluster.network.isolate(lost);
  await world.until('the agent is asked', 5 * MINUTE_MS, () => agent.requests.length > 0);
  for (let i = 0; i < 6; i++) {
    await cluster.kernel.runFor(MINUTE_MS);
    await look(scene);
    assert.deepEqual([uidOf(world.pod(DB)), world.pod(DB).spec.nodeName], [uidOf(pod), lost]);
    assert.equal(fencedText(world, lost), 'Unknown FencingStarted');
    assert.equal(isOutOfService(world, lost), false);
    assert.deepEqual(cluster.oracle.nodesOf('default', DB), [lost], 'it runs, out of reach');
  }
  assert.ok((await fenceEvents(cluster, lost)).includes('FencingFailed'));
  agent.failure = undefined;
  agent.isSlow = true;
  await cluster.kernel.runFor(MINUTE_MS);
  await look(scene);
  assert.equal(isOutOfService(world, lost), false, 'what is at work is no confirmation');
  agent.isSlow = false;
  await world.until('db runs elsewhere', MINUTE_MS, () => hasRecovered(scene));
  assert.deepEqual(effectsOf(scene), [`fence ${lost}`]);
  assert.equal(new Set(agent.requests.map(({ requestId }) => requestId)).size, 1);
});

test('[FENCE-08] a fenced machine that is powered on by accident stays excluded until it is unfenced; then it takes part again', async () => {
  const scene = await setScene({ seed: 6, afterSeconds: 30 });
  const { cluster, world, pod, lost } = scene;
  cluster.network.isolate(lost);
  await world.until('db runs elsewhere', 10 * MINUTE_MS, () => hasRecovered(scene));
  cluster.powerOn(lost);
  for (let i = 0; i < 4; i++) {
    await cluster.kernel.runFor(MINUTE_MS);
    await look(scene);
    assert.equal(world.readyNodes().includes(lost), false, 'not ready');
    assert.ok(isOutOfService(world, lost));
    assert.deepEqual(
      world.allPods().filter(({ spec }) => spec.nodeName === lost),
      [],
    );
  }
  await annotate(cluster, lost, { 'fencing/unfence': 'true' });
  await world.until('the node is back', 2 * MINUTE_MS, () => world.readyNodes().includes(lost));
  await world.until('nothing is left of the fence', MINUTE_MS, () => !isOutOfService(world, lost));
  assert.equal(fencedOf(world.findNode(lost))?.status, 'False');
  assert.notEqual(uidOf(world.pod(DB)), uidOf(pod));
  await cluster.kernel.runFor(5 * MINUTE_MS);
  assert.deepEqual(effectsOf(scene), [`fence ${lost}`, `unfence ${lost}`], 'not fenced again');
});

for (const seed of [7, 8, 9]) {
  test(`[FENCE-10] [TEST-04] two concurrent fencers fence a node once, whichever of them is killed meanwhile (seed ${seed})`, async () => {
    const fencers = ['fencer-1', 'fencer-2'];
    const scene = await setScene({ seed, fencers, afterSeconds: 30 });
    const { cluster, world, agent, lost } = scene;
    agent.failure = new Error('not yet');
    cluster.network.isolate(lost);
    const isBegun = (): boolean => agent.requests.length > 0 && fencedText(world, lost) === 'Unknown FencingStarted';
    await world.until('the fence is begun', 5 * MINUTE_MS, isBegun);
    const { holder } = JSON.parse(world.findNode(lost)?.metadata.annotations?.['fencing/claim'] ?? '{}') as {
      holder?: string;
    };
    assert.ok(fencers.includes(holder ?? ''));
    const before = agent.requests.length;
    cluster.killFencer(holder ?? '');
    await cluster.kernel.runFor(30_000);
    assert.equal(agent.requests.length, before, 'the other one leaves it to the claimer for a while');
    agent.failure = undefined;
    await world.until('db runs elsewhere', 5 * MINUTE_MS, () => hasRecovered(scene));
    assert.deepEqual(effectsOf(scene), [`fence ${lost}`]);
    assert.equal(new Set(agent.requests.map(({ requestId }) => requestId)).size, 1, 'one request from the claim on');
  });
}

test('[FENCE-10] [TEST-06] a restarted fencer continues its fence with the same request', async () => {
  const scene = await setScene({ seed: 10, afterSeconds: 30 });
  const { cluster, world, agent, lost } = scene;
  agent.isSlow = true;
  cluster.network.isolate(lost);
  await world.until('the agent is at work', 5 * MINUTE_MS, () => agent.effects.length > 0);
  cluster.killFencer('fencer');
  await cluster.kernel.runFor(10 * MINUTE_MS);
  await look(scene);
  assert.equal(isOutOfService(world, lost), false, 'nobody has confirmed it');
  agent.isSlow = false;
  startFencer(scene, { party: 'fencer-again', holder: 'fencer', afterSeconds: 30 });
  await world.until('db runs elsewhere', MINUTE_MS, () => hasRecovered(scene));
  assert.deepEqual(effectsOf(scene), [`fence ${lost}`]);
  assert.equal(new Set(agent.requests.map(({ requestId }) => requestId)).size, 1);
});

test('[FENCE-12] a fence requested by a user ends no pod: that stays the decision of the user, who now takes no risk', async () => {
  const scene = await setScene({ seed: 11, app: 'nobody' });
  const { cluster, world, pod, lost } = scene;
  await annotate(cluster, lost, { 'fencing/requested': 'true' });
  await world.until('it is fenced', MINUTE_MS, () => fencedText(world, lost) === 'True NodeFenced');
  await cluster.kernel.runFor(10 * MINUTE_MS);
  await look(scene);
  assert.equal(uidOf(world.pod(DB)), uidOf(pod));
  assert.equal(isOutOfService(world, lost), false);
  assert.deepEqual(cluster.oracle.nodesOf('default', DB), [], 'and yet nothing runs there');
  const taints = world.findNode(lost)?.spec.taints ?? [];
  assert.ok(taints.some(({ key, effect }) => key === 'fencing/fenced' && effect === 'NoSchedule'));
  await cluster.ask(cluster.admin.delete(PODS, { namespace: 'default', name: DB }, { gracePeriodSeconds: 0 }));
  await world.until('db runs elsewhere', MINUTE_MS, () => hasRecovered(scene));
});

test('[FENCE-12] or the user lets the fencer release everything', async () => {
  const scene = await setScene({ seed: 12, app: 'nobody' });
  const { cluster, world, lost } = scene;
  await annotate(cluster, lost, { 'fencing/requested': 'true' });
  await world.until('it is fenced', MINUTE_MS, () => fencedText(world, lost) === 'True NodeFenced');
  await annotate(cluster, lost, { 'fencing/release': 'true' });
  await world.until('db runs elsewhere', MINUTE_MS, () => hasRecovered(scene));
  assert.ok(isOutOfService(world, lost));
});

test('[FENCE-01] [FENCE-04] without a fencer, and without a matching rule, a partition is consistent and needs a manual repair', async () => {
  for (const fencers of [[], ['fencer']]) {
    const scene = await setScene({ seed: 13, fencers, app: 'nobody' });
    const { cluster, world, agent, pod, lost } = scene;
    cluster.network.isolate(lost);
    await cluster.kernel.runFor(12 * MINUTE_MS);
    await look(scene);
    assert.equal(uidOf(world.pod(DB)), uidOf(pod));
    assert.deepEqual(cluster.oracle.nodesOf('default', DB), [lost]);
    assert.deepEqual(agent.requests, []);
    cluster.network.rejoin(lost);
    await world.until('it heals', 3 * MINUTE_MS, () => world.isUp('db', 1) && world.readyNodes().length === NODE_COUNT);
  }
});

test('[FENCE-06] a node that comes back before its fence is confirmed is released', async () => {
  const scene = await setScene({ seed: 14, afterSeconds: 30 });
  const { cluster, world, agent, pod, lost } = scene;
  agent.failure = new Error('not yet');
  cluster.network.isolate(lost);
  await world.until('the agent is asked', 5 * MINUTE_MS, () => agent.requests.length > 0);
  cluster.network.rejoin(lost);
  const note = () => world.findNode(lost)?.metadata.annotations?.['fencing/claim'] ?? '';
  await world.until('the node is heard', 2 * MINUTE_MS, () => note().includes('"lifting":"heard"'));
  agent.failure = undefined;
  await world.until('the fence is given up', 2 * MINUTE_MS, () => fencedText(world, lost) === 'False PartitionOver');
  await look(scene);
  assert.deepEqual([uidOf(world.pod(DB)), world.pod(DB).spec.nodeName], [uidOf(pod), lost], 'nothing was ended');
  assert.ok(world.readyNodes().includes(lost));
});
