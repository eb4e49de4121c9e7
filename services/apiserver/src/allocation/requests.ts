import type { Service } from '@holdfast/api';
import { invalid, StatusError, unclassifiedError } from '@holdfast/machinery';
import { invalidService, isHeadless, shownAddresses } from './ip-families.ts';
import { addressNumber, isWithin, NODE_PORTS, type Range } from './ranges.ts';

/** Returns the explicitly requested values. Conflicts are found only on the write. */
export function settleRequests(service: Service, old: Readonly<Service> | undefined, addresses: Range): void {
  if (old === undefined || old.spec.type === 'ExternalName') checkAddress(service, addresses);
  const taken = new Set((old?.spec.ports ?? []).map(({ nodePort }) => nodePort ?? 0));
  if (hasNodePorts(service)) {
    if (old === undefined) settleNewPorts(service, taken);
    else checkChangedPorts(service, taken);
  }
  if (needsHealthPort(service) && (old === undefined || !needsHealthPort(old))) checkHealthPort(service, taken);
}

export const hasNodePorts = ({ spec }: Readonly<Service>): boolean =>
  spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** A balanced service may do without, as far as its client names none. */
export const needsNodePorts = (service: Readonly<Service>): boolean =>
  hasNodePorts(service) && (service.spec.type === 'NodePort' || service.spec.allocateLoadBalancerNodePorts !== false);

export const needsHealthPort = ({ spec }: Readonly<Service>): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

function checkAddress(service: Readonly<Service>, addresses: Range): void {
  if (service.spec.type === 'ExternalName' || isHeadless(service)) return;
  for (const ip of service.spec.clusterIPs ?? []) {
    if (isWithin(addresses, addressNumber(ip) ?? 0)) continue;
    throw refusedAddress(
      service,
      ip,
      `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${addresses.text}`,
    );
  }
}

export const refusedAddress = (service: Readonly<Service>, ip: string, why: string): Error =>
  invalidService(service, [
    invalid('spec.clusterIPs', shownAddresses(service.spec), `failed to allocate IP ${ip}: ${why}`),
  ]);

/** The same port over another protocol gets the same node port; between different ports none is shared. */
function settleNewPorts(service: Service, taken: Set<number>): void {
  const ports = service.spec.ports ?? [];
  const settled = new Map<number, number>();
  const named = new Map<number, number>();
  for (const { port, nodePort } of ports) if (nodePort && !named.has(port)) named.set(port, nodePort);
  const needsAll = needsNodePorts(service);
  for (const [i, port] of ports.entries()) {
    if (!port.nodePort && !needsAll) continue;
    const wanted = named.get(port.port) ?? 0;
    const shared = settled.get(port.port);
    if (shared === undefined) {
      if (wanted !== 0) take(service, i, wanted, taken);
      settled.set(port.port, wanted);
    } else if (port.nodePort && port.nodePort !== shared) take(service, i, port.nodePort, taken);
    if (!port.nodePort && wanted !== 0) port.nodePort = wanted;
  }
}

/** An update may give several ports one node port, as long as they differ in their protocol. */
function checkChangedPorts(service: Readonly<Service>, taken: Set<number>): void {
  const seen = new Set<string>();
  for (const [i, { protocol = '', nodePort = 0 }] of (service.spec.ports ?? []).entries()) {
    if (nodePort === 0) continue;
    if (!taken.has(nodePort)) take(service, i, nodePort, taken);
    const said = `{${protocol} ${nodePort}}`;
    if (seen.has(said)) throw unclassifiedError(`duplicate nodePort: ${said}`);
    seen.add(said);
  }
}

function take(service: Readonly<Service>, index: number, nodePort: number, taken: Set<number>): void {
  const problem = portProblem(nodePort, taken);
  if (problem !== undefined) throw refusedPort(service, index, nodePort, problem);
  taken.add(nodePort);
}

export const TAKEN = 'provided port is already allocated';

function portProblem(port: number, taken: ReadonlySet<number>): string | undefined {
  if (taken.has(port)) return TAKEN;
  if (isWithin(NODE_PORTS, port)) return undefined;
  return `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.text}`;
}

export const refusedPort = (service: Readonly<Service>, index: number, nodePort: number, why: string): Error =>
  invalidService(service, [invalid(`spec.ports[${index}].nodePort`, nodePort, why)]);

function checkHealthPort({ spec }: Readonly<Service>, taken: ReadonlySet<number>): void {
  const port = spec.healthCheckNodePort ?? 0;
  const problem = port === 0 ? undefined : portProblem(port, taken);
  if (problem !== undefined) throw refusedHealthPort(port, problem);
}

export const refusedHealthPort = (port: number, why: string): StatusError =>
  allocationFailure(`failed to allocate requested HealthCheck NodePort ${port}: ${why}`);

/** Kubernetes takes these for faults of its own. */
export const allocationFailure = (why: string): StatusError =>
  new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${why}`,
    details: { causes: [{ message: why }] },
  });
