import { type Cidr, cidrContains, type Node, parseCidr, parseIp } from '@holdfast/api';

/** Packets for the pods of one node go to this address of it. */
export interface NodeRoute {
  readonly node: string;
  readonly network: string;
  readonly via: string;
}

export interface RefusedRoute {
  readonly node: string;
  readonly reason: string;
}

export interface RouteDecision {
  readonly routes: readonly NodeRoute[];
  /** Nodes whose pods are not reached from here. */
  readonly refused: readonly RefusedRoute[];
}

export interface RoutePlace {
  /** The node that decides. */
  readonly nodeName: string;
  /** The network of all pods; those of nodes lie in it. */
  readonly clusterNetwork: string;
  readonly serviceNetwork: string;
}

/**
 * The ways from one node to the pods of the others. A node may write anything into its own object, so a claim counts
 * only where it takes nothing from others: a part of the cluster's network that no older node has, by way of an address
 * that is neither a pod's nor a service's. Every node decides the same, because the age of objects comes from the store. Pure.
 */
export function decideRoutes(nodes: readonly Node[], place: RoutePlace): RouteDecision {
  const routes: NodeRoute[] = [];
  const refused: RefusedRoute[] = [];
  const taken: Claim[] = [];
  for (const node of nodes.toSorted(byAge)) {
    const name = node.metadata.name ?? '';
    const text = networkOf(node);
    // Its controller has not given it one yet.
    if (text === undefined) continue;
    const claim = claimOf(text, name, place, taken);
    if (typeof claim !== 'string') taken.push(claim);
    const via = addressOf(node);
    const reason = typeof claim === 'string' ? claim : whyNotVia(via, place);
    if (name === place.nodeName) continue;
    if (reason === '' && via !== undefined) routes.push({ node: name, network: text, via });
    else refused.push({ node: name, reason });
  }
  return { routes, refused };
}

interface Claim {
  readonly node: string;
  readonly network: Cidr;
}

/** The claim, or why it does not count. */
function claimOf(text: string, node: string, place: RoutePlace, taken: readonly Claim[]): Claim | string {
  const network = parseCidr(text);
  const all = parseCidr(place.clusterNetwork);
  if (network === undefined || !isNetwork(network)) return `its network ${text} is not one of IPv4`;
  if (all === undefined || !cidrContains(all, network) || network.prefix <= all.prefix)
    return `its network ${text} is not a part of ${place.clusterNetwork}`;
  const other = taken.find((each) => cidrContains(each.network, network) || cidrContains(network, each.network));
  return other === undefined ? { node, network } : `its network ${text} belongs to node ${other.node}`;
}

/** Of IPv4, and the address of the network itself. */
const isNetwork = ({ ip, prefix }: Cidr): boolean => {
  const size = 1n << BigInt(Math.max(0, 32 - prefix));
  return ip.family === 'IPv4' && ip.value % size === 0n;
};

function whyNotVia(via: string | undefined, { clusterNetwork, serviceNetwork }: RoutePlace): string {
  if (via === undefined) return 'it reports no address of IPv4';
  const closed = [...NEVER, clusterNetwork, serviceNetwork].find((network) => contains(network, via));
  return closed === undefined ? '' : `its address ${via} lies in ${closed}`;
}

/** This machine, loopback addresses, single links, groups of receivers. */
const NEVER = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'];

function contains(network: string, address: string): boolean {
  const [outer, inner] = [parseCidr(network), parseCidr(`${address}/32`)];
  return outer !== undefined && inner !== undefined && cidrContains(outer, inner);
}

const byAge = (a: Node, b: Node): number => compare(bornAt(a), bornAt(b)) || compare(nameOf(a), nameOf(b));
const bornAt = ({ metadata }: Node): string => metadata.creationTimestamp ?? '';
const nameOf = ({ metadata }: Node): string => metadata.name ?? '';
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const networkOf = ({ spec }: Node): string | undefined =>
  [...(spec?.podCIDRs ?? []), ...(spec?.podCIDR ? [spec.podCIDR] : [])].find((text) => !text.includes(':'));

const addressOf = ({ status }: Node): string | undefined =>
  (status?.addresses ?? []).find(({ type, address }) => type === 'InternalIP' && parseIp(address)?.family === 'IPv4')
    ?.address;
