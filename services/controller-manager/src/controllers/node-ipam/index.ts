import { NODES, type Node } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { NODE_IPAM_RETRY_MS } from '../../limits.ts';
import type { ClusterNetwork } from './cluster-network.ts';
import { NodeNetworks } from './node-networks.ts';

export interface NodeIpamSettings {
  /** One for each address family, the primary one first. */
  readonly clusterNetworks: readonly ClusterNetwork[];
}

/** Gives each node a network of its own for its pods (`spec.podCIDRs`). */
export const nodeIpamController = (settings: NodeIpamSettings): ControllerDefinition => ({
  name: 'nodeipam',
  component: 'cidrAllocator',
  identity: 'manager',
  watches: [NODES],
  create: (context) => [createLoop(context, settings)],
});

function createLoop(context: ControllerContext, { clusterNetworks }: NodeIpamSettings): Loop {
  const nodes = context.informers.of(NODES);
  const pools = clusterNetworks.map((cluster) => new NodeNetworks(cluster));
  const observe = (node: Node): void => {
    if (hasNetwork(node)) for (const pool of pools) pool.hold(nameOf(node), networksOf(node));
  };
  const release = (name: string): void => {
    for (const pool of pools) pool.release(name);
  };
  const allocate = async (node: Node): Promise<number | undefined> => {
    const chosen = pools.map((pool) => pool.free());
    const networks = chosen.filter((network) => network !== undefined);
    const [first] = networks;
    if (first === undefined || networks.length < pools.length) {
      context.events.event(node, NONE_LEFT);
      return NODE_IPAM_RETRY_MS;
    }
    // Held before the write, because its outcome may stay unknown; the cache shows what became of it.
    for (const pool of pools) pool.hold(nameOf(node), networks);
    const spec = { ...node.spec, podCIDR: first, podCIDRs: networks };
    const written = await unlessChanged(() => context.client.update(NODES, { ...node, spec }));
    if (written === undefined) release(nameOf(node));
    return undefined;
  };
  return {
    name: 'nodeipam',
    // One at a time: two allocations must not choose the same network.
    workers: 1,
    initialKeys: () => {
      const all = nodes.list();
      for (const node of all) observe(node);
      return all.filter((node) => !hasNetwork(node)).map(nameOf);
    },
    wake: (enqueue) => [
      nodes.onChange(({ key, object, old }) => {
        if (object === undefined) release(old === undefined ? key : nameOf(old));
        else if (hasNetwork(object)) observe(object);
        else enqueue(key);
      }),
    ],
    reconcile: async (name) => {
      const node = nodes.get({ name });
      if (node === undefined || isTerminating(node) || hasNetwork(node)) return {};
      const requeueAfterMs = await allocate(node);
      return requeueAfterMs === undefined ? {} : { requeueAfterMs };
    },
  };
}

const NONE_LEFT = {
  type: 'Warning',
  reason: 'CIDRNotAvailable',
  message: 'Every network of --cluster-cidr is in use by a node; this node gets none until another node is removed.',
} as const;

const networksOf = ({ spec }: Node): readonly string[] => spec.podCIDRs ?? (spec.podCIDR ? [spec.podCIDR] : []);
const hasNetwork = (node: Node): boolean => networksOf(node).length > 0;
