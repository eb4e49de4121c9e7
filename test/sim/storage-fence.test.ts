import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, NODES, PERSISTENT_VOLUMES, PODS } from '@holdfast/api';
import { MemoryAgent } from '@holdfast/fencer/memory-agent';
import { SimCluster } from './cluster.ts';
import { annotate, fencedOf, fencedText, fencerConfiguration, isOutOfService } from './fencing-scene.ts';
import { History } from './history.ts';
import { createDisk, createDiskUser, DISK, SimStorageServer, STORAGE_LABELS } from './storage.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const MINUTE_MS = 60_000;
const [A, B] = ['node-1', 'node-2'] as const;
/** How long pod one continues to write after it was asked to end. */
const SECONDS_TO_STOP = 1_500;
/** After the partition was seen; together with the monitor's grace more than ten minutes. */
const FENCE_AFTER_SECONDS = 600;
const ONE = { namespace: 'default', name: 'one' };

interface Scene {
  readonly cluster: SimCluster;
  readonly world: World;
  readonly storage: SimStorageServer;
  readonly firewall: MemoryAgent;
  readonly history: History;
}

/** Steps 1 to 11: pod one has the disk on node A and was asked to end, pod two waits for it on node B. */
async function walkToStep11(seed: number): Promise<Scene> {
  const cluster = new SimCluster({
    seed,
    nodes: 3,
    identities: /^(one|two)$/,
    labelsOf: (node) => (node === A || node === B ? STORAGE_LABELS : {}),
  });
  const world = new World(cluster);
  const storage = new SimStorageServer(cluster, ['one', 'two']);
  const firewall = new MemoryAgent('storage-firewall', (request) => storage.guard(request));
  const configuration = fencerConfiguration(firewall.name, 'storage', {
    app: 'one',
    afterSeconds: FENCE_AFTER_SECONDS,
  });
  cluster.start();
  cluster.startFencer({
    party: 'fencer',
    holder: 'fencer',
    configuration,
    agents: new Map([[firewall.name, firewall]]),
  });
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === 3);
  await cluster.ask(createDisk(cluster.admin));
  const history = new History(cluster);
  history.follow(PERSISTENT_VOLUMES, ({ status: { attachment } }) =>
    attachment === undefined ? 'disk free' : `disk ${attachment.nodeName}/${attachment.pods?.[0]?.name ?? ''}`,
  );
  history.follow(NODES, (node) => (node.metadata.name === A ? `fenced ${fencedOf(node)?.status ?? 'never'}` : ''));
  history.follow(PODS, ({ metadata: { name }, status: { phase } }) => `${name} ${phase}`);
  await cluster.ask(createDiskUser(cluster.admin, { name: 'one', node: A, secondsToStop: SECONDS_TO_STOP }));
  await world.until('one runs', SETTLE_DEADLINE_MS, () => world.findPod('one')?.status.phase === 'Running');
  await cluster.ask(cluster.admin.delete(PODS, ONE));
  await cluster.ask(createDiskUser(cluster.admin, { name: 'two', node: B, secondsToStop: 1 }));
  await world.until('two waits on node B', SETTLE_DEADLINE_MS, () => world.findPod('two')?.spec.nodeName === B);
  return { cluster, world, storage, firewall, history };
}

const attachedTo = async ({ cluster }: Scene): Promise<string | undefined> =>
  (await cluster.ask(cluster.admin.get(PERSISTENT_VOLUMES, DISK))).status.attachment?.nodeName;

async function tenMinutesInVain(scene: Scene): Promise<void> {
  const { cluster, world, firewall } = scene;
  for (let minute = 1; minute <= 10; minute++) {
    await cluster.kernel.runFor(MINUTE_MS);
    await world.until('a look', SETTLE_DEADLINE_MS, () => true);
    assert.equal(await attachedTo(scene), A, `minute ${minute}`);
    assert.equal(world.pod('two').status.phase, 'Pending');
    assert.deepEqual(cluster.oracle.nodesOf('default', 'two'), []);
    assert.deepEqual(firewall.requests, []);
  }
}

for (const seed of [1, 2, 3]) {
  test(`[EXS-32] [FENCE-07] [FENCE-09] [RWO-22] a disk on a node that is cut off waits; once its storage path is surely cut it goes to the waiting pod (seed ${seed})`, async () => {
    const scene = await walkToStep11(seed);
    const { cluster, world, storage, firewall, history } = scene;
    cluster.network.isolate(A);
    await tenMinutesInVain(scene);
    assert.deepEqual(storage.writers(), [A], 'its process goes on writing');

    await world.until('two runs', 5 * MINUTE_MS, () => world.findPod('two')?.status.phase === 'Running');
    assert.equal(await attachedTo(scene), B);
    assert.deepEqual(cluster.oracle.nodesOf('default', 'one'), [A], 'the old process still runs');
    assert.deepEqual([storage.accepts(A), storage.accepts(B)], [false, true], 'and its writes are rejected');
    history.assertOrder(
      `disk ${A}/one`,
      'fenced False',
      'fenced Unknown',
      'fenced True',
      'disk free',
      `disk ${B}/two`,
      'two Running',
    );
    assert.deepEqual(
      firewall.effects.map(({ action, node, scope }) => `${action} ${scope} of ${node.name}`),
      [`fence storage of ${A}`],
    );
    const events = await cluster.ask(cluster.admin.list(EVENTS, { namespace: 'default' }));
    const broken = events.items.filter(({ reason }) => reason === 'AttachmentBroken');
    assert.match(
      broken.map(({ message }) => message).join(),
      /^system:holdfast:fencer broke the attachment to node node-1/,
    );

    await cluster.kernel.runFor(MINUTE_MS);
    await world.until('a look', SETTLE_DEADLINE_MS, () => true);
    assert.ok(world.findPod('one') !== undefined, 'its name is not given away: its process may still talk to clients');
    assert.equal(isOutOfService(world, A), false);
    history.stop();
  });
}

test('[FENCE-08] storage access is restored only when the node has closed the released volumes', async () => {
  const scene = await walkToStep11(4);
  const { cluster, world, storage, history } = scene;
  cluster.network.isolate(A);
  await world.until('two runs', 15 * MINUTE_MS, () => world.findPod('two')?.status.phase === 'Running');
  cluster.network.rejoin(A);
  await world.until('the node is back', 2 * MINUTE_MS, () => world.readyNodes().includes(A));
  assert.equal(fencedText(world, A), 'True StorageFenced', 'the fence outlives the partition');
  await annotate(cluster, A, { 'fencing/unfence': 'true' });
  await cluster.kernel.runFor(2 * MINUTE_MS);
  await world.until('a look', SETTLE_DEADLINE_MS, () => true);
  assert.deepEqual(cluster.oracle.nodesOf('default', 'one'), [A], 'the old process has the disk open');
  assert.equal(fencedText(world, A), 'True StorageFenced');
  assert.equal(storage.accepts(A), false);
  await world.until('one has ended', 20 * MINUTE_MS, () => world.findPod('one') === undefined);
  await world.until('the fence is lifted', MINUTE_MS, () => fencedOf(world.findNode(A))?.status === 'False');
  assert.equal(storage.accepts(A), true);
  assert.equal(await attachedTo(scene), B);
  const { annotations = {} } = world.findNode(A)?.metadata ?? {};
  assert.deepEqual(
    Object.keys(annotations).filter((key) => key.startsWith('fencing/')),
    [],
  );
  history.stop();
});
