import { addressText, gatewayOf, type NodeNetwork, readNetwork } from './address-pool.ts';

/** The network of containers as CNI plugins make it: a bridge, addresses of the node's networks, host ports. Pure. */
export const CNI_BRIDGE = 'holdfast0';
export const CNI_FILE = '10-holdfast.conflist';
/** Without these there is no network; Debian has them in containernetworking-plugins. */
export const CNI_PLUGINS_NEEDED = ['bridge', 'host-local', 'portmap', 'loopback'] as const;

const NAME = 'holdfast';
/** Where host-local keeps the addresses that are in use. */
export const CNI_ADDRESSES = `/var/lib/cni/networks/${NAME}`;
const DEFAULT_ROUTES = { IPv4: '0.0.0.0/0', IPv6: '::/0' } as const;

const familyOf = (network: string): keyof typeof DEFAULT_ROUTES => (network.includes(':') ? 'IPv6' : 'IPv4');

/**
 * `networks` are those of all nodes whose containers one runtime runs: it has one network for all of them, so a pod has an
 * address of one of these nodes.
 */
export function cniConfiguration(networks: readonly string[]): string {
  const families = [...Map.groupBy(networks, familyOf)];
  const bridge = {
    type: 'bridge',
    bridge: CNI_BRIDGE,
    isGateway: true,
    // A cluster that ended without a stop leaves the bridge with an address of its own networks.
    forceAddress: true,
    hairpinMode: true,
    ipMasq: true,
    ipam: {
      type: 'host-local',
      ranges: families.map(([, each]) => partsOfOne(each) ?? each.map((subnet) => ({ subnet }))),
      routes: families.map(([family]) => ({ dst: DEFAULT_ROUTES[family] })),
    },
  };
  const plugins = [bridge, { type: 'portmap', capabilities: { portMappings: true } }];
  return `${JSON.stringify({ cniVersion: '0.4.0', name: NAME, plugins }, undefined, 2)}\n`;
}

/**
 * Ranges of one subnet with one gateway, for the IPv4 networks of several nodes: a bridge has one IPv4 address, so no
 * pod would get an address of a second subnet. `undefined`: one network, or others than IPv4.
 */
function partsOfOne(networks: readonly string[]): readonly object[] | undefined {
  const parts = networks.map(readNetwork).filter((part) => part !== undefined);
  const [first] = parts;
  if (first === undefined || networks.length === 1 || parts.length < networks.length) return undefined;
  const subnet = smallestAround(parts);
  const gateway = gatewayOf(first);
  return parts.map(({ base, size }) => ({
    subnet,
    rangeStart: addressText(base + 1),
    rangeEnd: addressText(base + size - 2),
    gateway,
  }));
}

/** The smallest network that all of these lie in. */
function smallestAround(parts: readonly NodeNetwork[]): string {
  const from = Math.min(...parts.map(({ base }) => base));
  const last = Math.max(...parts.map(({ base, size }) => base + size - 1));
  let bits = 32;
  while (Math.floor(from / 2 ** (32 - bits)) !== Math.floor(last / 2 ** (32 - bits))) bits -= 1;
  const size = 2 ** (32 - bits);
  return `${addressText(from - (from % size))}/${bits}`;
}

/** Files that a container runtime reads as configurations. */
export const isCniFile = (name: string): boolean => /\.(?:conf|conflist|json)$/.test(name);
