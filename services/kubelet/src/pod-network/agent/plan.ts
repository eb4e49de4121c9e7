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

export const addressCommands = (addresses: readonly string[]): string =>
  lines(...addresses.map((address) => `addr replace ${address}/32 dev lo`));

const lines = (...commands: readonly string[]): string => commands.map((command) => `${command}\n`).join('');
