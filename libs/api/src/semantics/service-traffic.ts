import type { Endpoint, EndpointSlice, Service, ServicePort } from '../generated/types.ts';
import { HEADLESS_LABEL, PROXY_NAME_LABEL, TOPOLOGY_HINTS_ANNOTATION, TOPOLOGY_MODE_ANNOTATION } from './well-known.ts';

export type ServiceAddressType = 'IPv4' | 'IPv6';

/** True when the service has addresses of its own, and no other program asked to serve them. */
export const isProxied = ({ metadata, spec }: Pick<Service, 'metadata' | 'spec'>): boolean =>
  spec.type !== 'ExternalName' &&
  spec.clusterIP !== undefined &&
  spec.clusterIP !== '' &&
  spec.clusterIP !== 'None' &&
  [PROXY_NAME_LABEL, HEADLESS_LABEL].every((label) => !Object.hasOwn(metadata.labels ?? {}, label));

/** The service whose endpoints are the API servers. */
export const isApiServerService = ({ metadata }: Pick<Service, 'metadata'>): boolean =>
  metadata.namespace === 'default' && metadata.name === 'kubernetes';

/** The label selector of a proxy for services and slices. */
export const PROXIED_SELECTOR = `!${PROXY_NAME_LABEL},!${HEADLESS_LABEL}`;

const AUTOMATIC: ReadonlySet<string | undefined> = new Set(['Auto', 'auto']);

/**
 * True when clients should get endpoints in their own zone. The annotation that asks for hints by another rule takes
 * precedence, as in Kubernetes.
 */
export function prefersClose({ metadata, spec }: Pick<Service, 'metadata' | 'spec'>): boolean {
  const { [TOPOLOGY_HINTS_ANNOTATION]: older, [TOPOLOGY_MODE_ANNOTATION]: mode = older } = metadata.annotations ?? {};
  return spec.trafficDistribution === 'PreferClose' && !AUTOMATIC.has(mode);
}

/** Absent conditions mean the best: older producers of slices do not set them. */
export const isEndpointReady = ({ conditions }: Pick<Endpoint, 'conditions'>): boolean => conditions?.ready !== false;
export const isEndpointServing = ({ conditions }: Pick<Endpoint, 'conditions'>): boolean =>
  conditions?.serving !== false;
export const isEndpointTerminating = ({ conditions }: Pick<Endpoint, 'conditions'>): boolean =>
  conditions?.terminating === true;

/** One place that a port of a service may send to. */
export interface TrafficTarget {
  readonly address: string;
  readonly port: number;
  readonly endpoint: Endpoint;
}

/** The targets of one port in one address family, without duplicates. Only the first address of an endpoint is used. */
export function trafficTargets(
  slices: readonly EndpointSlice[],
  { name = '', protocol = 'TCP' }: Pick<ServicePort, 'name' | 'protocol'>,
  addressType: ServiceAddressType,
): readonly TrafficTarget[] {
  const targets = new Map<string, TrafficTarget>();
  for (const slice of slices) {
    if (slice.addressType !== addressType) continue;
    const port = slice.ports?.find((each) => (each.name ?? '') === name && (each.protocol ?? 'TCP') === protocol)?.port;
    if (port === undefined) continue;
    for (const endpoint of slice.endpoints ?? []) {
      const [address] = endpoint.addresses;
      if (address === undefined) continue;
      const known = targets.get(`${address} ${port}`);
      if (known === undefined || isBetter(endpoint, known.endpoint)) {
        targets.set(`${address} ${port}`, { address, port, endpoint });
      }
    }
  }
  return [...targets.values()];
}

/** While a pod moves between slices it may be in two of them. */
const isBetter = (one: Endpoint, other: Endpoint): boolean => isEndpointReady(one) && !isEndpointReady(other);

/** Where the traffic is seen from. */
export interface TrafficPlace {
  /** Absent: all nodes share this place, and every endpoint is local. */
  readonly nodeName: string | undefined;
  readonly zone?: string | undefined;
}

export interface TrafficChoice {
  /** Policy `Cluster`. */
  readonly cluster: readonly TrafficTarget[];
  /** Policy `Local`. */
  readonly local: readonly TrafficTarget[];
}

/**
 * The targets that get traffic by each policy. Ready ones get it; when there are none, those that are terminating but
 * still serve. Hints choose among the ready ones.
 */
export function chooseTargets(targets: readonly TrafficTarget[], place: TrafficPlace): TrafficChoice {
  const { nodeName } = place;
  const local = targets.filter(({ endpoint }) => nodeName === undefined || endpoint.nodeName === nodeName);
  return { cluster: usable(targets, nearby(place, targets)), local: usable(local, () => true) };
}

function usable(targets: readonly TrafficTarget[], isNear: (endpoint: Endpoint) => boolean): readonly TrafficTarget[] {
  const ready = targets.filter(({ endpoint }) => isEndpointReady(endpoint) && isNear(endpoint));
  if (ready.length > 0) return ready;
  return targets.filter(({ endpoint }) => isEndpointServing(endpoint) && isEndpointTerminating(endpoint));
}

/** Hints count only when every ready endpoint has one and the zone of this node is among them. */
function nearby({ zone }: TrafficPlace, targets: readonly TrafficTarget[]): (endpoint: Endpoint) => boolean {
  const ready = targets.filter(({ endpoint }) => isEndpointReady(endpoint));
  const isHinted = ready.every(({ endpoint }) => zonesOf(endpoint).length > 0);
  const isHere = ready.some(({ endpoint }) => zone !== undefined && zonesOf(endpoint).includes(zone));
  return isHinted && isHere ? (endpoint) => zone !== undefined && zonesOf(endpoint).includes(zone) : () => true;
}

const zonesOf = ({ hints }: Endpoint): readonly string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** The addresses of load balancers whose traffic arrives with that address as its destination. */
export const virtualIngressAddresses = ({ spec, status }: Pick<Service, 'spec' | 'status'>): readonly string[] =>
  spec.type === 'LoadBalancer'
    ? (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, ipMode = 'VIP' }) =>
        ip === undefined || ip === '' || ipMode !== 'VIP' ? [] : [ip],
      )
    : [];
