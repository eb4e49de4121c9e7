import assert from 'node:assert/strict';
import { SimCluster, type SimClusterOptions } from './cluster.ts';
import { createWorkloads, isReady } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const REPLICAS = 3;
export const SCENARIO_MS = 10 * MINUTE_MS;
/** Node monitor grace (50 s), toleration (300 s), and some. */
const EVICTION_DEADLINE_MS = 7 * MINUTE_MS;
const HEAL_DEADLINE_MS = 2 * MINUTE_MS;

/** A bus at its worst: a third of the messages lost, some doubled, all of them late and out of order. */
export const LOSSY_BUS = { loss: 0.3, duplication: 0.2, maxLatencyMs: 2000 } as const;

/** The findings of one run of the scenario. */
export interface PartitionReport {
  readonly traceHash: string;
  readonly steps: number;
  readonly identitiesStarted: number;
  /** Identities on the node that was cut off: each has to start once more. */
  readonly identitiesLost: number;
}

/**
 * Ten simulated minutes: a StatefulSet and a Deployment come up; the node that runs `db-1` is cut off; the control plane gives
 * it up, the Deployment recovers elsewhere, the StatefulSet waits; the node comes back and everything heals. The oracle
 * watches every step; what it finds rejects as a `SimulationFailure`.
 */
export async function runPartitionScenario(
  options: Omit<SimClusterOptions, 'nodes' | 'identities'>,
): Promise<PartitionReport> {
  const cluster = new SimCluster({ ...options, nodes: 4, identities: /^db-\d+$/ });
  const world = new World(cluster);
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === 4);
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  await world.until(
    'both workloads are up',
    SETTLE_DEADLINE_MS,
    () => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS),
  );
  const { node: lost, identities: identitiesLost } = await cutOff(cluster, world);
  cluster.network.rejoin(lost);
  await world.until('everything heals', HEAL_DEADLINE_MS, () => isHealed(cluster, world));
  await cluster.kernel.runFor(SCENARIO_MS - cluster.kernel.elapsedMs);
  assert.ok(isHealed(cluster, world), 'healed once, healed for good');
  assert.equal(world.pods('web').length, REPLICAS, 'the old pods of the Deployment are gone');
  const { kernel, oracle } = cluster;
  return { traceHash: kernel.traceHash(), steps: kernel.steps, identitiesStarted: oracle.startCount, identitiesLost };
}

/** Disconnects the node of `db-1` until it is declared lost, and checks the API meanwhile. */
async function cutOff(
  cluster: SimCluster,
  world: World,
): Promise<{ readonly node: string; readonly identities: number }> {
  const victim = world.pod('db-1');
  const lost = victim.spec.nodeName ?? '';
  const identities = world.pods('db').filter(({ spec }) => spec.nodeName === lost).length;
  cluster.network.isolate(lost);
  await world.until('the node is given up and the Deployment recovers elsewhere', EVICTION_DEADLINE_MS, () => {
    const elsewhere = world.pods('web').filter((pod) => pod.spec.nodeName !== lost && isReady(pod));
    return elsewhere.length === REPLICAS && world.findPod('db-1')?.metadata.deletionTimestamp !== undefined;
  });
  await cluster.kernel.runFor(MINUTE_MS);
  const waiting = world.pod('db-1');
  assert.equal(waiting.metadata.uid, victim.metadata.uid, 'a lost identity is not replaced');
  assert.equal(waiting.spec.nodeName, lost);
  assert.equal(world.readyNodes().includes(lost), false);
  assert.deepEqual(cluster.oracle.nodesOf('default', 'db-1'), [lost], 'its process still runs, out of reach');
  return { node: lost, identities };
}

function isHealed(cluster: SimCluster, world: World): boolean {
  const identities = Array.from({ length: REPLICAS }, (_, i) => `db-${i}`);
  const truth = identities.every((name) => {
    const [node, ...more] = cluster.oracle.nodesOf('default', name);
    return node === world.findPod(name)?.spec.nodeName && more.length === 0;
  });
  return truth && world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS) && world.readyNodes().length === 4;
}
