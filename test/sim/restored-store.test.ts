import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS, type Pod } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { SimCluster } from './cluster.ts';
import { createWorkloads } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const NODE_COUNT = 3;
const REPLICAS = 2;
const SEEDS = [1, 2, 3];
const PET = { namespace: 'default', name: 'db-1' } as const;
const REPLACED_DEADLINE_MS = 60_000;
/** Heartbeats of the bus come every five seconds, and watches break with the server. */
const NOTICED_WITHIN_MS = 30_000;
const LONG_MS = 10 * 60_000;

interface Scene {
  readonly cluster: SimCluster;
  readonly world: World;
  readonly copied: number;
}

/** A copy of the data is made, then pet 1 is replaced. */
async function setScene(seed: number): Promise<Scene> {
  const cluster = new SimCluster({ seed, nodes: NODE_COUNT, identities: /^db-\d+$/ });
  const world = new World(cluster);
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  const isUp = (): boolean => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS);
  await world.until('both workloads are up', SETTLE_DEADLINE_MS, isUp);
  const copied = await cluster.store.currentRevision();
  const replaced = uidOf(world.pod(PET.name));
  await cluster.ask(cluster.admin.delete(PODS, PET));
  const isReplaced = (): boolean => isUp() && uidOf(world.pod(PET.name)) !== replaced;
  await world.until('pet 1 was replaced', REPLACED_DEADLINE_MS, isReplaced);
  return { cluster, world, copied };
}

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';

for (const seed of SEEDS) {
  test(`[SAFE-22] all API servers restart on an older copy of the data: the store halts within seconds, and nothing moves (seed ${seed})`, async () => {
    const { cluster, copied } = await setScene(seed);
    await cluster.restoreStore(copied, { adopted: false });
    const halted = (): boolean => cluster.store.haltedBy() !== undefined;
    await cluster.kernel.runUntil('the store is halted', halted, NOTICED_WITHIN_MS);
    assert.match(cluster.store.haltedBy() ?? '', /a client has seen revision/);
    const alive = cluster.oracle.nodesOf(PET.namespace, PET.name);
    for (const endAt = cluster.kernel.elapsedMs + LONG_MS; cluster.kernel.elapsedMs < endAt; ) {
      await cluster.kernel.runFor(60_000);
      await assert.rejects(cluster.ask(cluster.admin.find(PODS, PET)), isRefused);
      assert.deepEqual(cluster.oracle.nodesOf(PET.namespace, PET.name), alive, 'the pet runs on');
    }
  });

  test(`[SAFE-22] an adopted older copy: all clients list again, and soon the running pods match the API (seed ${seed})`, async () => {
    const scene = await setScene(seed);
    const { cluster, world, copied } = scene;
    // The data contain the replaced pet: an adoption accepts that it starts again while the other one ends.
    cluster.oracle.release(PET.namespace, PET.name);
    await cluster.restoreStore(copied, { adopted: true });
    const isUp = (): boolean => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS);
    const isWhereItLives = (): boolean =>
      cluster.oracle.nodesOf(PET.namespace, PET.name).join() === world.pod(PET.name).spec.nodeName;
    await world.until('what lives is what the API says', LONG_MS, () => isUp() && isWhereItLives());
    assert.equal(cluster.store.haltedBy(), undefined);
  });
}

const isRefused = (error: unknown): boolean => error instanceof StatusError && error.code === 503;
