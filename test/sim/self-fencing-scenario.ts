import { NAMESPACES, NODES, type Pod, SELF_FENCING } from '@holdfast/api';
import { SimCluster, type SimClusterOptions } from './cluster.ts';
import { createWorkloads } from './workloads.ts';
import { SETTLE_DEADLINE_MS, World } from './world.ts';

const NODE_COUNT = 4;
const REPLICAS = 3;
const RECOVERY_DEADLINE_MS = 120_000;
const HEAL_DEADLINE_MS = 90_000;
/** The worst case of a promise, plus some time for other activity to end. */
export const LAPSE_MS = 9_000;

export type Loss = 'cut-off' | 'cut-from-masters' | 'kubelet-dead' | 'power-off';

export interface SelfFencingScene {
  readonly cluster: SimCluster;
  readonly world: World;
  readonly pet: Pod;
  readonly lost: string;
}

export type SelfFencingOptions = Omit<SimClusterOptions, 'nodes' | 'identities'> & {
  /** What the namespace says of its pods. */
  readonly ofNamespace?: 'all' | 'off';
};

/** Three pets on four nodes with promises. */
export async function setScene({ ofNamespace, ...options }: SelfFencingOptions): Promise<SelfFencingScene> {
  const cluster = new SimCluster({
    selfFencing: { policy: 'exclusive' },
    ...options,
    nodes: NODE_COUNT,
    identities: /^db-\d+$/,
  });
  const world = new World(cluster);
  cluster.start();
  await world.until('all nodes are ready', SETTLE_DEADLINE_MS, () => world.readyNodes().length === NODE_COUNT);
  if (ofNamespace !== undefined) {
    const body = { metadata: { annotations: { [SELF_FENCING]: ofNamespace } } };
    await cluster.ask(cluster.admin.patch(NAMESPACES, { name: 'default' }, { type: 'merge', body }));
  }
  cluster.background(createWorkloads(cluster.admin, REPLICAS));
  const isUp = (): boolean => world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS);
  await world.until('both workloads are up', SETTLE_DEADLINE_MS, isUp);
  const pet = world.pod('db-1');
  return { cluster, world, pet, lost: pet.spec.nodeName ?? '' };
}

export function lose({ cluster, lost }: SelfFencingScene, how: Loss): void {
  if (how === 'cut-off') cluster.network.isolate(lost);
  else if (how === 'cut-from-masters') cluster.cutFromMasters(lost);
  else if (how === 'power-off') cluster.powerOff(lost);
  else cluster.killKubelet(lost);
}

/** Returns the time until the identity runs on another node, as its machine reports. */
export async function recoveryMs(scene: SelfFencingScene): Promise<number> {
  const { cluster, world, lost } = scene;
  const lostAtMs = cluster.kernel.elapsedMs;
  await world.until('the identity runs elsewhere', RECOVERY_DEADLINE_MS, () => {
    const nodes = cluster.oracle.nodesOf('default', 'db-1');
    return nodes.some((node) => node !== lost);
  });
  return cluster.kernel.elapsedMs - lostAtMs;
}

/** The previous state is restored, and the node makes a new promise. */
export async function heal({ cluster, world, lost }: SelfFencingScene): Promise<void> {
  const isHealed = (): boolean =>
    world.isUp('db', REPLICAS) && world.isUp('web', REPLICAS) && world.readyNodes().length === NODE_COUNT;
  await world.until('everything heals', HEAL_DEADLINE_MS, isHealed);
  const node = await cluster.ask(cluster.admin.get(NODES, { name: lost }));
  const said = (type: string) => node.status.conditions?.find((condition) => condition.type === type)?.status;
  if (said('SelfFenced') !== 'False' || said('SelfFencing') !== 'True')
    throw new Error(`node ${lost} does not promise again: ${JSON.stringify(node.status.conditions)}`);
}
