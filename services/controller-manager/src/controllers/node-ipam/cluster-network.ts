import { type Cidr, canonicalIp, cidrContains, parseCidr } from '@holdfast/api';

/** A network of the cluster that is cut into equal networks, one for each node. */
export interface ClusterNetwork {
  readonly network: Cidr;
  readonly nodeMaskSize: number;
}

/** Nodes of one cluster network at most (/16 and /32): the scan for a free one stays short. */
const NODE_BITS_MAX = 16;

/** Returns what is wrong with the settings, or the network. */
export function readClusterNetwork(text: string, nodeMaskSize: number): ClusterNetwork | string {
  const network = parseCidr(text);
  if (network === undefined || networkText(network) !== text)
    return `"${text}" is not the address of a network, such as 10.244.0.0/16`;
  const largest = bitsOf(network) - 2;
  const smallest = network.prefix;
  if (nodeMaskSize < smallest || nodeMaskSize > Math.min(largest, smallest + NODE_BITS_MAX))
    return `the networks of nodes in ${text} have a mask between /${smallest} and /${Math.min(largest, smallest + NODE_BITS_MAX)}, not /${nodeMaskSize}`;
  return { network, nodeMaskSize };
}

const bitsOf = ({ ip }: Cidr): number => (ip.family === 'IPv4' ? 32 : 128);

/** The canonical text of the network that an address with a mask lies in. */
export function networkText({ ip, prefix }: Cidr): string {
  const shift = BigInt((ip.family === 'IPv4' ? 32 : 128) - prefix);
  return `${addressText(ip.family, (ip.value >> shift) << shift)}/${prefix}`;
}

function addressText(family: Cidr['ip']['family'], value: bigint): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16));
  return canonicalIp(groups.join(':')) ?? '';
}

export const subnetCount = ({ network, nodeMaskSize }: ClusterNetwork): number => 2 ** (nodeMaskSize - network.prefix);

/** The network with this number. */
export function subnet({ network, nodeMaskSize }: ClusterNetwork, index: number): string {
  const shift = BigInt(bitsOf(network) - nodeMaskSize);
  const base = (network.ip.value >> shift) + BigInt(index);
  return `${addressText(network.ip.family, base << shift)}/${nodeMaskSize}`;
}

/** The numbers of the networks that overlap with this one: first and last. `undefined`: none does. */
export function overlapOf(cluster: ClusterNetwork, text: string): readonly [number, number] | undefined {
  const other = parseCidr(text);
  if (other === undefined) return undefined;
  const { network, nodeMaskSize } = cluster;
  if (cidrContains(other, network)) return [0, subnetCount(cluster) - 1];
  if (!cidrContains(network, other)) return undefined;
  const shift = BigInt(bitsOf(network) - nodeMaskSize);
  const first = Number((other.ip.value >> shift) - (network.ip.value >> shift));
  return [first, first + 2 ** Math.max(0, nodeMaskSize - other.prefix) - 1];
}
