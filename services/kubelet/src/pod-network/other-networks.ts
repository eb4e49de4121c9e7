import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { BlockList, connect, isIPv4, type Socket } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import type { Clock } from '@holdfast/platform';
import { WAY_OUT_CONNECT_MS } from './limits.ts';
import type { Place } from './outside.ts';

/** Networks that are not other networks: this machine, its loopback addresses, groups of receivers. */
const NEVER = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4'] as const;

type Interfaces = Readonly<Record<string, readonly Pick<NetworkInterfaceInfo, 'address'>[] | undefined>>;

export interface ClusterNetworks {
  /** The network of all pods, `10.244.0.0/16`: its addresses are reached through the agent. */
  readonly clusterNetwork: string;
  /** The network of services. An address that no service has any more must not lead to a stranger who has it. */
  readonly serviceNetwork?: string;
}

/** Why a pod may not connect to this address; '' when it may. Pure. */
export function refusalOf(host: string, networks: ClusterNetworks, interfaces: Interfaces): string {
  if (!isIPv4(host)) return `${host} is no IPv4 address`;
  const closed = new BlockList();
  const { clusterNetwork, serviceNetwork } = networks;
  for (const network of [...NEVER, clusterNetwork, ...(serviceNetwork === undefined ? [] : [serviceNetwork])]) {
    const [address = '', prefix] = network.split('/');
    closed.addSubnet(address, Number(prefix), 'ipv4');
  }
  const isOwn = Object.values(interfaces).some((all = []) => all.some(({ address }) => address === host));
  return isOwn || closed.check(host) ? notOutside(host) : '';
}

const notOutside = (host: string): string => `${host} is not outside this cluster and its machine`;

const BINDS_ANY = '/proc/sys/net/ipv4/ip_nonlocal_bind';

/**
 * Asks the kernel whether an address is one of the machine. The list of interfaces lacks those without a carrier, such
 * as the bridge of a container engine without containers, and networks that are routed to the machine as a whole.
 */
export async function isOfMachine(host: string): Promise<boolean> {
  if (bindsAny()) return false;
  const socket = createSocket('udp4');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.on('error', (error) => resolve(!('code' in error && error.code === 'EADDRNOTAVAIL')));
  socket.bind(0, host, () => resolve(true));
  try {
    return await promise;
  } finally {
    socket.close();
  }
}

/** With this setting of the machine every address can be bound, so that says nothing. */
function bindsAny(): boolean {
  try {
    return readFileSync(BINDS_ANY, 'utf8').trim() === '1';
  } catch {
    return false;
  }
}

export interface OtherNetworksDeps extends ClusterNetworks {
  readonly clock: Clock;
  /** Default: asks the kernel. */
  readonly isOfMachine?: (host: string) => Promise<boolean>;
}

/**
 * Why a pod may not reach this address; '' when it may. Servers of the machine are not reached: many trust its processes.
 * The interfaces are read each time: the machine may get another address.
 */
async function whyClosed(
  { isOfMachine: isOwn = isOfMachine, ...networks }: OtherNetworksDeps,
  host: string,
): Promise<string> {
  const refusal = refusalOf(host, networks, networkInterfaces());
  if (refusal !== '') return refusal;
  return (await isOwn(host)) ? notOutside(host) : '';
}

/** Makes the connections of pods to other networks. */
export async function reachOtherNetwork(deps: OtherNetworksDeps, { host, port }: Place): Promise<Socket> {
  const refusal = await whyClosed(deps, host);
  if (refusal !== '') throw new Error(refusal);
  return connectTo(deps.clock, { host, port });
}

/** Whether pods may send datagrams there. */
export const mayReach =
  (deps: OtherNetworksDeps) =>
  async ({ host, port }: Place): Promise<boolean> =>
    port > 0 && (await whyClosed(deps, host)) === '';

function connectTo(clock: Clock, place: Place): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, allowHalfOpen: true });
    const deadline = clock.timer(WAY_OUT_CONNECT_MS, () => socket.destroy(new Error('no answer in time')));
    // After the connection is there, the error belongs to its user.
    socket.on('error', (error) => {
      deadline.cancel();
      reject(error);
    });
    socket.once('connect', () => {
      deadline.cancel();
      resolve(socket);
    });
  });
}
