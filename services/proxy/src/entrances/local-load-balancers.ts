import type { Service as KubeService, LoadBalancerIngress, ServicePort } from '@holdfast/api';
import { keyOf } from '@holdfast/client';
import type { AddressPool } from './address-pool.ts';
import type { Closed, Entrance, Entrances } from './entrances.ts';

const KIND = 'load balancer';
/** A port that is open at one of these is in use at every address of the machine. */
const EVERY_ADDRESS = ['0.0.0.0', '::'];

interface Balancer {
  readonly ingress: readonly LoadBalancerIngress[];
  readonly problems: readonly string[];
}

/**
 * Load balancers of this machine: each service gets an address of the pool, at which its ports are open, and its node
 * ports too. A user without rights cannot open port 80, but reaches the service at the node port.
 */
export class LocalLoadBalancers {
  readonly #entrances: Entrances;
  readonly #pool: AddressPool;
  readonly #nodePortsAt: string | undefined;

  /** `nodePortsAt` is the address at which `NodePortEntrances` opens every node port. */
  constructor(entrances: Entrances, pool: AddressPool, nodePortsAt?: string) {
    this.#entrances = entrances;
    this.#pool = pool;
    this.#nodePortsAt = nodePortsAt;
  }

  async ensure(service: KubeService): Promise<Balancer> {
    const key = keyOf(service);
    const held = (service.status.loadBalancer.ingress ?? []).map(({ ip }) => ip);
    for (const address of this.#pool.candidates(key, [...held, service.spec.loadBalancerIP])) {
      const closed = await this.#openAll(service, address);
      if (closed.some(({ code }) => code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL')) continue;
      this.#pool.release(key);
      this.#pool.take(address, key);
      return balancerOf(service, address, closed);
    }
    await this.release(key);
    throw new Error('no address of this machine has these ports free');
  }

  async release(key: string): Promise<void> {
    this.#pool.release(key);
    await this.#entrances.close({ service: key, kind: KIND });
  }

  /** The ports at this address alone; resolves with those that are not open. */
  async #openAll(service: KubeService, address: string): Promise<readonly Closed[]> {
    const hasNodePorts = [...EVERY_ADDRESS, address].some((each) => each === this.#nodePortsAt);
    const wanted = entrancesOf(service, address).filter(({ at, port }) => !hasNodePorts || at.port !== port.nodePort);
    await this.#entrances.close({ service: keyOf(service), kind: KIND }, wanted);
    const closed: Closed[] = [];
    for (const entrance of wanted) {
      const refused = await this.#entrances.open(entrance);
      if (refused !== undefined) closed.push(refused);
    }
    return closed;
  }
}

const isTcp = ({ protocol = 'TCP' }: ServicePort): boolean => protocol === 'TCP';

const entrancesOf = (service: KubeService, host: string): readonly Entrance[] =>
  (service.spec.ports ?? [])
    .filter(isTcp)
    .flatMap((port) =>
      [port.port, port.nodePort]
        .filter((number): number is number => number !== undefined && number > 0)
        .map((number) => ({ service: keyOf(service), port, at: { host, port: number }, kind: KIND })),
    );

function balancerOf(service: KubeService, ip: string, closed: readonly Closed[]): Balancer {
  const { ports = [] } = service.spec;
  const errorOf = (port: ServicePort): string | undefined => {
    if (!isTcp(port)) return 'ProtocolNotSupported';
    return closed.some(({ at }) => at.port === port.port) ? 'PortNotOpened' : undefined;
  };
  const statuses = ports.map((port) => {
    const error = errorOf(port);
    return { port: port.port, protocol: port.protocol ?? 'TCP', ...(error === undefined ? {} : { error }) };
  });
  const hasErrors = statuses.some(({ error }) => error !== undefined);
  return {
    ingress: [{ ip, ipMode: 'Proxy', ...(hasErrors ? { ports: statuses } : {}) }],
    problems: ports.flatMap((port) => problemOf(port, { ip, closed }) ?? []),
  };
}

function problemOf(port: ServicePort, { ip, closed }: { readonly ip: string; readonly closed: readonly Closed[] }) {
  if (!isTcp(port)) return `Port ${port.port} is not reached from outside: local load balancers carry TCP only.`;
  const found = closed.find(({ at }) => at.port === port.port);
  if (found === undefined) return undefined;
  const isOther = port.nodePort !== undefined && !closed.some(({ at }) => at.port === port.nodePort);
  const instead = isOther ? `; the service answers at ${ip}:${port.nodePort}` : '';
  return `Port ${port.port} of ${ip} cannot be opened (${found.reason})${instead}.`;
}
