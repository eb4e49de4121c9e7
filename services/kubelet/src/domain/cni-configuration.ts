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
    hairpinMode: true,
    ipMasq: true,
    ipam: {
      type: 'host-local',
      ranges: families.map(([, each]) => each.map((subnet) => ({ subnet }))),
      routes: families.map(([family]) => ({ dst: DEFAULT_ROUTES[family] })),
    },
  };
  const plugins = [bridge, { type: 'portmap', capabilities: { portMappings: true } }];
  return `${JSON.stringify({ cniVersion: '0.4.0', name: NAME, plugins }, undefined, 2)}\n`;
}

/** Files that a container runtime reads as configurations. */
export const isCniFile = (name: string): boolean => /\.(?:conf|conflist|json)$/.test(name);
