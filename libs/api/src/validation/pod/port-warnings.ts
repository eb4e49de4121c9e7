import type { ContainerPort, PodSpec } from '../../generated/types.ts';
import { allContainers } from './windows.ts';

interface PlacedPort {
  readonly path: string;
  readonly port: Readonly<ContainerPort>;
}

/** Ports of all containers share the addresses of the pod. */
export function portWarnings(out: string[], path: string, spec: Readonly<PodSpec>): void {
  const seen = new Map<string, PlacedPort[]>();
  for (const { container, path: at } of allContainers(spec, path)) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const placed = { path: `${at}.ports[${i}]`, port };
      if (hostIp(port) !== '' && hostPort(port) === 0) {
        out.push(`${placed.path}: hostIP set without hostPort: ${goPort(port)}`);
      }
      const key = `${port.containerPort}/${port.protocol ?? ''}`;
      const others = seen.get(key) ?? [];
      for (const other of others) warnOfBoth(out, placed, other);
      seen.set(key, [...others, placed]);
    }
  }
}

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

/** As Go prints the struct. */
const goPort = (port: Readonly<ContainerPort>): string =>
  `{Name:${port.name ?? ''} HostPort:${hostPort(port)} ContainerPort:${port.containerPort} Protocol:${port.protocol ?? ''} HostIP:${hostIp(port)}}`;
