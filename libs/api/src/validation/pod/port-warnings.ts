import type { ContainerPort, PodSpec } from '../../generated/types.ts';
import { WARNINGS_MAX } from '../limits.ts';
import { allContainers } from './windows.ts';

interface PlacedPort {
  readonly order: number;
  readonly path: string;
  readonly port: Readonly<ContainerPort>;
}

/** Ports of all containers share the pod's addresses. */
export function portWarnings(out: string[], path: string, spec: Readonly<PodSpec>): void {
  const seen = new Map<string, PortsOfOneNumber>();
  let order = 0;
  for (const { container, path: at } of allContainers(spec, path)) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const placed = { order: order++, path: `${at}.ports[${i}]`, port };
      if (hostIp(port) !== '' && hostPort(port) === 0) {
        out.push(`${placed.path}: hostIP set without hostPort: ${goPort(port)}`);
      }
      const key = `${port.containerPort}/${port.protocol ?? ''}`;
      const others = seen.get(key) ?? new PortsOfOneNumber();
      if (out.length < WARNINGS_MAX) for (const other of others.inTheWayOf(placed)) warnOfBoth(out, placed, other);
      others.add(placed);
      seen.set(key, others);
    }
  }
}

/** Finds the ports to warn about without comparing all pairs. */
class PortsOfOneNumber {
  readonly #all: PlacedPort[] = [];
  readonly #withoutHostPort: PlacedPort[] = [];
  readonly #byHostPort = new Map<number, PlacedPort[]>();
  readonly #byAddress = new Map<string, PlacedPort[]>();

  add(placed: PlacedPort): void {
    const { port } = placed;
    this.#all.push(placed);
    if (hostPort(port) === 0) this.#withoutHostPort.push(placed);
    else {
      append(this.#byHostPort, hostPort(port), placed);
      append(this.#byAddress, `${hostPort(port)}/${hostIp(port)}`, placed);
    }
  }

  /** In order, limited to the number that is reported. */
  inTheWayOf({ port }: PlacedPort): readonly PlacedPort[] {
    const told = (ports: readonly PlacedPort[] = []): readonly PlacedPort[] => ports.slice(0, WARNINGS_MAX);
    const number = hostPort(port);
    if (number === 0) return told(this.#all);
    if (hostIp(port) === '') return inOrder([told(this.#withoutHostPort), told(this.#byHostPort.get(number))]);
    const addresses = [`${number}/${hostIp(port)}`, `${number}/`].map((key) => told(this.#byAddress.get(key)));
    return inOrder([told(this.#withoutHostPort), ...addresses]);
  }
}

function append<K>(lists: Map<K, PlacedPort[]>, key: K, placed: PlacedPort): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [placed]);
  else list.push(placed);
}

const inOrder = (lists: readonly (readonly PlacedPort[])[]): readonly PlacedPort[] =>
  lists.flat().sort((a, b) => a.order - b.order);

const hostIp = ({ hostIP = '' }: Readonly<ContainerPort>): string => hostIP;
const hostPort = ({ hostPort: port = 0 }: Readonly<ContainerPort>): number => port;

function warnOfBoth(out: string[], { path, port }: PlacedPort, { path: other, port: first }: PlacedPort): void {
  const sameHostPort = hostPort(port) === hostPort(first);
  if (sameHostPort && hostIp(port) === hostIp(first)) {
    out.push(`${path}: duplicate port definition with ${other}`);
  } else if (hostPort(port) === 0 || hostPort(first) === 0) {
    out.push(`${path}: overlapping port definition with ${other}`);
  } else if (sameHostPort && (hostIp(port) === '') !== (hostIp(first) === '')) {
    out.push(`${path}: dangerously ambiguous port definition with ${other}`);
  }
}

/** Formats the struct as Go does. */
const goPort = (port: Readonly<ContainerPort>): string =>
  `{Name:${port.name ?? ''} HostPort:${hostPort(port)} ContainerPort:${port.containerPort} Protocol:${port.protocol ?? ''} HostIP:${hostIp(port)}}`;
