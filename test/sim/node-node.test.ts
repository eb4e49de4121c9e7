import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, PERSISTENT_VOLUMES } from '@holdfast/api';
import { MemoryAgent } from '@holdfast/fencer/memory-agent';
import { SimCluster } from './cluster.ts';
import { fencerConfiguration } from './fencing-scene.ts';
import { createDisk, createDiskUser, DISK, STORAGE_LABELS } from './storage.ts';
import { createWorkloads } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const NODE_COUNT = 3;
const REPLICAS = 3;
/** Longer than everything that gives a silent node up. */
const PARTITION_MINUTES = 12;
const EVICTIONS = /Evict|NodeNotReady|NodeNotSchedulable|Preempt|Killing|AttachmentBroken|Fenc/;

async function startLoaded(seed: number): Promise<{ cluster: SimCluster; world: World; agent: MemoryAgent }> {
  const cluster = new SimCluster({ seed, nodes: NODE_COUNT, identities: /^db-\d+$/, labelsOf: () => STORAGE_LABELS });
  const world = new World(cluster);
  // A fencer that would not wait: it has no reason to act.
  const agent = new MemoryAgent('node-poweroff');
  const configuration = fencerConfiguration(agent.name, 'node', { afterSeconds: 0 });
  cluster.start();
  cluster.startFencer({ party: 'fencer', holder: 'fencer', configuration, agents: new Map([[agent.name, agent]]) });
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  await cluster.ask(createDisk(cluster.admin));
  await cluster.ask(createDiskUser(cluster.admin, { name: 'one', node: 'node-1', secondsToStop: 1 }));
  const isUp = (): boolean => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS) && world.isUp('one', 1);
  await world.until('everything is up', SETTLE_DEADLINE_MS, isUp);
  return { cluster, world, agent };
}

for (const seed of [1, 2]) {
  test(`[TEST-02] nodes that reach the masters but not each other: no pod is evicted, rescheduled, detached or fenced (seed ${seed})`, async () => {
    const { cluster, world, agent } = await startLoaded(seed);
    const placed = (): readonly string[] =>
      world
        .allPods()
        .map(({ metadata, spec }) => `${metadata.name} ${metadata.uid} ${spec.nodeName} ${metadata.deletionTimestamp}`);
    const attachment = async () => (await cluster.ask(cluster.admin.get(PERSISTENT_VOLUMES, DISK))).status.attachment;
    const [podsBefore, attachedBefore, startsBefore] = [placed(), await attachment(), cluster.oracle.startCount];
    assert.equal(attachedBefore?.nodeName, 'node-1');
    for (const from of cluster.nodeNames)
      for (const to of cluster.nodeNames) if (from !== to) cluster.network.block(from, to);
    for (let minute = 0; minute < PARTITION_MINUTES; minute++) {
      await cluster.kernel.runFor(MINUTE_MS);
      await world.until('a look', SETTLE_DEADLINE_MS, () => true);
      assert.equal(world.readyNodes().length, NODE_COUNT);
    }
    assert.deepEqual(placed(), podsBefore);
    assert.deepEqual(await attachment(), attachedBefore);
    assert.equal(cluster.oracle.startCount, startsBefore, 'no process began anew');
    assert.deepEqual(agent.requests, []);
    const { items } = await cluster.ask(cluster.admin.list(EVENTS));
    assert.deepEqual(
      items.filter(({ reason }) => EVICTIONS.test(reason ?? '')).map(({ reason }) => reason),
      [],
    );
  });
}
