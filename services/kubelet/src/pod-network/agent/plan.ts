import {
  CONNECTIONS_PER_SECOND_MAX,
  RELAY_DATAGRAMS_PER_SECOND_MAX,
  WAY_OUT_DATAGRAMS_PER_SECOND_MAX,
} from './limits.ts';

/** The commands of `ip -batch` that make the parts of the network. Pure. */
export interface PodLink {
  /** The name of the agent's end; the pod's is `eth0`. */
  readonly name: string;
  readonly address: string;
  readonly gateway: string;
}

/** Run in the pod's namespace. The pod is alone on its link: whatever it sends goes through the agent's namespace. */
export const podCommands = ({ name, address, gateway }: PodLink, agentNamespace: string): string =>
  lines(
    'link set lo up',
    `link add eth0 type veth peer name ${name} netns ${agentNamespace}`,
    `addr add ${address}/32 dev eth0`,
    'link set eth0 up',
    `route add ${gateway}/32 dev eth0`,
    `route add default via ${gateway} dev eth0`,
  );

/** Run in the agent's namespace, after the pod's. */
export const linkCommands = ({ name, address, gateway }: PodLink): string =>
  lines(
    `addr replace ${gateway}/32 dev lo`,
    `link set ${name} up`,
    `route replace ${address}/32 dev ${name} src ${gateway}`,
  );

/** The agent's namespace before the first pod. */
export const BASE_COMMANDS = 'link set lo up\n';

/**
 * Settings of the agent's namespace, by file. A packet whose source is not the pod at whose link it arrives is dropped, and
 * links have no IPv6 addresses: no rule is made for what pods would send to them.
 */
export const BASE_SETTINGS: readonly (readonly [file: string, value: string])[] = [
  ['/proc/sys/net/ipv4/ip_forward', '1'],
  ['/proc/sys/net/ipv4/conf/all/rp_filter', '1'],
  ['/proc/sys/net/ipv6/conf/default/disable_ipv6', '1'],
];

/** Packets of one pod beyond a rate. `set` keeps a counter for each pod that sent some lately. */
const beyond = (set: string, perSecond: number): string =>
  `update @${set} { ip saddr limit rate over ${perSecond}/second burst ${perSecond} packets } drop`;

const counters = (...names: readonly string[]): string =>
  names.map((name) => `  set ${name} { type ipv4_addr; flags dynamic,timeout; timeout 10s; size 65536; }`).join('\n');

const OPENING = 'tcp flags & (syn | ack) == syn';

/**
 * Rules of the agent's namespace: what one pod may send to the servers of this network, which one process carries for all
 * pods. Before connection tracking, so a flood costs no entry there. Replaces those of an earlier attempt.
 */
export const SHARE_RULES = `table ip holdfast-shares
delete table ip holdfast-shares
table ip holdfast-shares {
${counters('datagrams', 'connections')}
  chain arriving {
    type filter hook prerouting priority raw; policy accept;
    meta l4proto udp fib daddr type local ${beyond('datagrams', RELAY_DATAGRAMS_PER_SECOND_MAX)}
    ${OPENING} fib daddr type local ${beyond('connections', CONNECTIONS_PER_SECOND_MAX)}
  }
}
`;

/** Of scope host: translated flows get the gateway as their source, not the address of a server. */
export const addressCommands = (addresses: readonly string[]): string =>
  lines(...addresses.map((address) => `addr replace ${address}/32 dev lo scope host`));

const OUT = '169.254.244.1';
const OUTSIDE = '169.254.244.2';
export const WAY_OUT_PORT = 15_001;
const OUT_MTU = 65_535;
/** The agent's end of the link to other networks. */
export const OUT_LINK = 'out0';

/** Run in the namespace that stands for all other networks. What arrives there is delivered there, whatever its address. */
export const outsideCommands = (agentNamespace: string): string =>
  lines(
    'link set lo up',
    // Datagrams for pods are whole packets there: the agent's namespace breaks them up.
    `link add out1 mtu ${OUT_MTU} type veth peer name out0 netns ${agentNamespace}`,
    `addr add ${OUTSIDE}/30 dev out1`,
    'link set out1 up',
    `route add default via ${OUT}`,
    'rule add iif out1 lookup 100',
    'route add local default dev lo table 100',
  );

/** Run in the agent's namespace, after those. An address of a pod that is gone is no address of another network. */
export const wayOutCommands = (network: string): string =>
  lines(
    `addr add ${OUT}/30 dev out0`,
    `link set out0 mtu ${OUT_MTU} up`,
    `route replace unreachable ${network}`,
    `route add default via ${OUTSIDE}`,
  );

/**
 * Rules of the namespace that stands for all other networks: every TCP connection arrives at one port. Datagrams arrive at
 * a raw socket, of which the kernel does not know: it would refuse each of them.
 */
export const OUTSIDE_RULES = `table ip holdfast-outside {
  chain arriving {
    type filter hook prerouting priority mangle; policy drop;
    iifname "out1" ip protocol tcp tproxy to :${WAY_OUT_PORT} accept
    iifname "out1" ip protocol udp accept
  }
  chain refusing {
    type filter hook output priority filter; policy accept;
    ip protocol icmp drop
  }
}
`;

/** Rules of the agent's namespace: only these protocols are led out. After network policies. Replaces those of an earlier attempt. */
export const wayOutRules = (protocols: readonly ('tcp' | 'udp')[]): string => `table ip holdfast-way-out
delete table ip holdfast-way-out
table ip holdfast-way-out {
${counters('connections', 'datagrams')}
  chain leaving {
    type filter hook forward priority filter + 10; policy accept;
    oifname "out0" ${OPENING} ${beyond('connections', CONNECTIONS_PER_SECOND_MAX)}
    oifname "out0" meta l4proto udp ${beyond('datagrams', WAY_OUT_DATAGRAMS_PER_SECOND_MAX)}
    oifname "out0" ip protocol != { ${protocols.join(', ')} } reject with icmp type admin-prohibited
  }
}
`;

/** The agent's end of the link to the machine. */
export const MACHINE_LINK = 'machine0';
/** The machine's address on it. */
export const MACHINE_ADDRESS = '169.254.244.6';
const AGENT = '169.254.244.5';

/** The part of a cluster's network that this agent has, where other nodes have the others. */
export interface ClusterPart {
  /** The network of all pods. */
  readonly all: string;
  /** The network of the pods here. */
  readonly own: string;
  /** Its first address, which is the agent's. */
  readonly gateway: string;
}

/**
 * Run in the agent's namespace. The other end is made in that of the machine. Without addresses of IPv6: the machine would
 * have one that the rules do not guard, and each of its browsers would see the network change when it is ready.
 * The agent's address has the scope of the link: translated flows get the gateway of the pods as their source.
 */
export const agentSideCommands = (name: string, machineNamespace: string, part?: ClusterPart): string =>
  lines(
    `link add ${MACHINE_LINK} type veth peer name ${name} netns ${machineNamespace}`,
    `link set ${MACHINE_LINK} addrgenmode none`,
    `addr add ${AGENT}/32 dev ${MACHINE_LINK} scope link`,
    `link set ${MACHINE_LINK} up`,
    `route add ${MACHINE_ADDRESS}/32 dev ${MACHINE_LINK}`,
    ...(part === undefined ? [] : partCommands(part)),
  );

/** The machine knows the ways to the other nodes. An address of an own pod that is gone is nobody's. */
const partCommands = ({ all, own, gateway }: ClusterPart): readonly string[] => [
  `addr replace ${gateway}/32 dev lo`,
  `route replace unreachable ${own}`,
  `route replace ${all} via ${MACHINE_ADDRESS} dev ${MACHINE_LINK} src ${gateway}`,
];

/** Run in the machine's namespace, after those. A route that is there already is somebody else's, and makes this fail. */
export const machineSideCommands = (name: string, networks: readonly string[]): string =>
  lines(
    `link set ${name} addrgenmode none`,
    `addr add ${MACHINE_ADDRESS}/32 dev ${name}`,
    `link set ${name} up`,
    `route add ${AGENT}/32 dev ${name}`,
    ...networks.map((network) => `route add ${network} via ${AGENT} dev ${name} src ${MACHINE_ADDRESS}`),
  );

/**
 * Rules of the agent's namespace: the machine opens connections to pods, and pods open none to the machine. Nobody else
 * has its address, so a pod cannot pass for it, and of what the machine would forward only pods of other nodes come in:
 * what says that it is a pod of this one comes from elsewhere and lies.
 */
export const machineRules = (part?: ClusterPart): string => `table ip holdfast-machine
delete table ip holdfast-machine
table ip holdfast-machine {
  chain arriving {
    type filter hook prerouting priority raw; policy accept;
    iifname != "${MACHINE_LINK}" ip saddr ${MACHINE_ADDRESS} drop
${
  part === undefined
    ? ''
    : `    iifname "${MACHINE_LINK}" ip saddr ${part.own} drop
    iifname "${MACHINE_LINK}" ip saddr ${part.all} ip daddr ${part.own} accept
`
}    iifname "${MACHINE_LINK}" ip saddr != ${MACHINE_ADDRESS} drop
  }
  chain leaving {
    type filter hook forward priority filter - 10; policy accept;
${
  part === undefined
    ? ''
    : `    oifname "${MACHINE_LINK}" ip saddr ${part.own} ip daddr ${part.all} accept
`
}    oifname "${MACHINE_LINK}" ct state != { established, related } reject with icmp type admin-prohibited
  }
}
`;

const lines = (...commands: readonly string[]): string => commands.map((command) => `${command}\n`).join('');
