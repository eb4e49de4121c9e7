import { isIP } from 'node:net';
import { type Endpoints, PODS, type Pod, type Service } from '@holdfast/api';
import type { Ids } from '@holdfast/platform';
import type { ObjectReader } from '../cache/reader.ts';
import { isGlobalUnicast } from '../proxy/global-unicast.ts';
import type { NodeGateway } from '../proxy/node-gateway.ts';

/** An address of a pod that serves. */
export interface NetPlace {
  readonly host: string;
  readonly port: number;
}

type Subset = NonNullable<Endpoints['subsets']>[number];

export type EndpointAddress = NonNullable<Subset['addresses']>[number];

/** A random address among those that serve the port: requests are spread without state. */
export function anyPlace(
  { subsets = [] }: Endpoints,
  portName: string,
  ids: Pick<Ids, 'uuid'>,
  isAllowed: (address: EndpointAddress) => boolean = ({ ip }) => isGlobalUnicast(ip),
): NetPlace | undefined {
  const places = subsets.flatMap((subset) => placesOf(subset, portName, isAllowed));
  return places[Number.parseInt(ids.uuid().slice(0, 8), 16) % places.length];
}

function placesOf(
  { addresses = [], ports = [] }: Subset,
  portName: string,
  isAllowed: (address: EndpointAddress) => boolean,
): readonly NetPlace[] {
  const port = ports.find((each) => (each.name ?? '') === portName)?.port;
  if (port === undefined) return [];
  return addresses.filter(isAllowed).map(({ ip }) => ({ host: ip, port }));
}

export interface Machine {
  readonly reader: Pick<ObjectReader, 'cached'>;
  readonly nodes: NodeGateway | undefined;
}

/**
 * True when a proxy may connect to a service's address. Pods of in-process nodes have addresses of this machine,
 * including loopback; any other endpoint must be on another machine.
 */
export function mayReach({ reader, nodes }: Machine, namespace: string, { ip, targetRef }: EndpointAddress): boolean {
  if (isGlobalUnicast(ip)) return true;
  const pod = targetRef?.kind === 'Pod' ? reader.cached(PODS, { namespace, name: targetRef.name ?? '' }) : undefined;
  return pod !== undefined && pod.status?.podIP === ip && isOnThisMachine(nodes, pod);
}

export const isOnThisMachine = (nodes: NodeGateway | undefined, { spec, status }: Pod): boolean =>
  isIP(status?.podIP ?? '') !== 0 && nodes?.sharesMachine?.(spec?.nodeName ?? '') === true;

export interface ServiceState {
  readonly name: string;
  readonly port: number;
  readonly service: Service | undefined;
  readonly endpoints: Endpoints | undefined;
}

/** Returns the address of a service's port. A string explains why there is none. */
export function placeOf(
  { name, port, service, endpoints }: ServiceState,
  ids: Pick<Ids, 'uuid'>,
  isAllowed: (address: EndpointAddress) => boolean,
): NetPlace | string {
  if (service === undefined) return `service ${JSON.stringify(name)} not found`;
  const servicePort = (service.spec?.ports ?? []).find((each) => each.port === port);
  if (servicePort === undefined) return `no service port ${port} found for service ${JSON.stringify(name)}`;
  const none = `no endpoints available for service ${JSON.stringify(name)}`;
  if (endpoints === undefined) return none;
  return anyPlace(endpoints, servicePort.name ?? '', ids, isAllowed) ?? none;
}
