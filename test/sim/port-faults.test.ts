import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENTS, PODS, STATEFUL_SETS } from '@holdfast/api';
import { RuntimeError } from '@holdfast/kubelet';
import { createSeededRandom } from '@holdfast/platform';
import { OutcomeUnknown, StoreUnavailable } from '@holdfast/store';
import { SimCluster } from './cluster.ts';
import { failingPort } from './failing-port.ts';
import { createWorkloads } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const NODE_COUNT = 2;
const REPLICAS = 3;
const ROUNDS = 12;
/** While every call may fail, it takes its time until a pod has ended and its name has been taken again. */
const ROUNDS_MAX = 40;
const ROUND_MS = 15_000;
const STOP_BEGINS_MS = 1_500;
const FAULTY_SHARE = 0.1;
const RECOVERY_MS = 600_000;

const RUNTIME_CALLS = [
  'list',
  'runSandbox',
  'stopSandbox',
  'removeSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'exec',
  'version',
];
const STORE_CALLS = ['get', 'list', 'write', 'currentRevision', 'compactedRevision', 'health', 'compact'];

/** Every port of the cluster fails at random while `faults.share` is above 0. */
function startFaulty(seed: number) {
  const faults = { share: 0 };
  const random = createSeededRandom(seed, 'faults');
  const cluster = new SimCluster({
    seed,
    nodes: NODE_COUNT,
    identities: /^db-\d+$/,
    busQuality: { loss: FAULTY_SHARE, duplication: FAULTY_SHARE, maxLatencyMs: 500 },
    runtimeOf: (runtime) =>
      failingPort(runtime, {
        methods: RUNTIME_CALLS,
        // Two stops of one container overlap only for seconds: both are to fail at the same time now and then.
        share: (method) => (method === 'stopContainer' ? 4 * faults.share : faults.share),
        random,
        error: (method) => new RuntimeError('Unavailable', `${method} got no answer`),
      }),
    storeOf: (store) =>
      failingPort(store, {
        methods: STORE_CALLS,
        share: () => faults.share / 4,
        random,
        error: (method, isDone) =>
          isDone && method === 'write' ? new OutcomeUnknown('of a test') : new StoreUnavailable('no answer'),
      }),
  });
  const setTransport = (loss: number): void => {
    for (const party of ['scheduler', 'controller-manager', ...cluster.nodeNames]) {
      cluster.network.setQuality(party, 'apiserver', { loss });
      cluster.network.setQuality('apiserver', party, { loss });
    }
  };
  const turn = (value: number): void => {
    faults.share = value;
    setTransport(value);
  };
  cluster.start();
  return { cluster, world: new World(cluster), turn };
}

/** Deletions whose grace is shortened on the way, and rollouts: stops, starts and writes of every kind. */
async function disturb(cluster: SimCluster, round: number): Promise<void> {
  const { admin, kernel } = cluster;
  const ignore = (): undefined => undefined;
  for (const gracePeriodSeconds of [30, 6]) {
    const pods = Array.from({ length: REPLICAS }, (_, index) => ({ namespace: 'default', name: `db-${index}` }));
    await cluster.ask(Promise.all(pods.map((pod) => admin.delete(PODS, pod, { gracePeriodSeconds }).catch(ignore))));
    await kernel.runFor(STOP_BEGINS_MS);
  }
  await cluster.ask(rollOut(admin, round).catch(ignore));
}

async function rollOut(admin: SimCluster['admin'], round: number): Promise<void> {
  const body = { spec: { template: { metadata: { annotations: { round: String(round) } } } } };
  const patch = { type: 'merge', body } as const;
  if (round % 2 === 0) await admin.patch(DEPLOYMENTS, { namespace: 'default', name: 'web' }, patch);
  else await admin.patch(STATEFUL_SETS, { namespace: 'default', name: 'db' }, patch);
}

for (const seed of [1, 2, 3]) {
  test(`faults of every port end no process, start nothing twice, and are recovered (seed ${seed})`, async (t) => {
    const lost: unknown[] = [];
    const collect = (error: unknown): void => void lost.push(error);
    for (const event of ['unhandledRejection', 'uncaughtException']) process.on(event, collect);
    t.after(() => {
      for (const event of ['unhandledRejection', 'uncaughtException']) process.off(event, collect);
    });
    const { cluster, world, turn } = startFaulty(seed);
    const isUp = (): boolean => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS);
    await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
    cluster.background(createWorkloads(cluster.admin, REPLICAS));
    await world.until('everything is up', RECOVERY_MS, isUp);
    turn(FAULTY_SHARE);
    const before = cluster.oracle.startCount;
    const replaced = (): boolean => cluster.oracle.startCount > before;
    for (let round = 0; round < ROUNDS || (round < ROUNDS_MAX && !replaced()); round++) {
      await disturb(cluster, round);
      await cluster.kernel.runFor(ROUND_MS);
    }
    assert.ok(replaced(), 'pods were replaced while the ports failed');
    turn(0);
    await world.until('everything is up again', RECOVERY_MS, isUp);
    assert.deepEqual(lost, []);
  });
}
