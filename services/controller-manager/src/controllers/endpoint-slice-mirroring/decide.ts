import { isIP } from 'node:net';
import {
  type DiscoveryV1EndpointPort,
  type Endpoint,
  type EndpointAddress,
  type EndpointSlice,
  type EndpointSubset,
  type Endpoints,
  LEADER_ANNOTATION,
  OVER_CAPACITY_ANNOTATION,
  SERVICE_NAME_LABEL,
  type Service,
  SKIP_MIRROR_LABEL,
} from '@holdfast/api';
import { LAST_APPLIED_ANNOTATION } from '@holdfast/machinery';
import {
  keyOfPorts,
  MANAGED_BY_LABEL,
  planSlices,
  RESERVED_SLICE_LABELS,
  type SliceAction,
  type SliceGroup,
  type SliceOwner,
} from '../../common/endpoint-slices.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { hasBackends } from '../../common/service-backends.ts';
import { MIRRORED_ENDPOINTS_PER_SUBSET_MAX } from '../../limits.ts';

export const MIRRORED_BY = 'endpointslicemirroring-controller.k8s.io';
/** These speak of the object, not of the addresses. */
const UNMIRRORED_ANNOTATIONS: ReadonlySet<string> = new Set([
  LAST_APPLIED_ANNOTATION,
  'endpoints.kubernetes.io/last-change-trigger-time',
  OVER_CAPACITY_ANNOTATION,
]);

export interface MirrorSnapshot {
  readonly endpoints: Endpoints;
  readonly service: Service | undefined;
  /** The slices that this controller made of the object. */
  readonly slices: readonly EndpointSlice[];
  readonly isNameTaken: SliceOwner['isNameTaken'];
}

export interface MirrorDecision {
  readonly actions: readonly SliceAction[];
  /** The parts that could not be mirrored. */
  readonly events: readonly MirrorEvent[];
}

export interface MirrorEvent {
  readonly type: 'Warning';
  readonly reason: 'InvalidIPAddress' | 'TooManyAddressesToMirror';
  readonly message: string;
}

/**
 * Returns the slices for user-written endpoints of a service without a selector; none when another controller makes
 * them.
 */
export function decide({ endpoints, service, slices, isNameTaken }: MirrorSnapshot): MirrorDecision {
  const mirror = isMirrored(endpoints, service) ? mirrorOf(endpoints) : { groups: [], skipped: NONE_SKIPPED };
  const owner: SliceOwner = {
    object: endpoints,
    type: { apiVersion: 'v1', kind: 'Endpoints' },
    ...marksOf(endpoints),
    endpointsPerSliceMax: MIRRORED_ENDPOINTS_PER_SUBSET_MAX,
    isNameTaken,
  };
  return { actions: planSlices(owner, mirror.groups, slices), events: eventsOf(mirror.skipped) };
}

function isMirrored({ metadata }: Endpoints, service: Service | undefined): boolean {
  if (service === undefined || isTerminating(service) || hasBackends(service)) return false;
  return metadata.labels?.[SKIP_MIRROR_LABEL] !== 'true' && metadata.annotations?.[LEADER_ANNOTATION] === undefined;
}

function marksOf(endpoints: Endpoints): Pick<SliceOwner, 'labels' | 'annotations'> {
  const { labels = {}, annotations = {} } = endpoints.metadata;
  const keptLabels = Object.entries(labels).filter(([key]) => !RESERVED_SLICE_LABELS.has(key));
  const keptAnnotations = Object.entries(annotations).filter(([key]) => !UNMIRRORED_ANNOTATIONS.has(key));
  return {
    labels: {
      ...Object.fromEntries(keptLabels),
      [MANAGED_BY_LABEL]: MIRRORED_BY,
      [SERVICE_NAME_LABEL]: nameOf(endpoints),
    },
    annotations: Object.fromEntries(keptAnnotations),
  };
}

interface Skipped {
  readonly invalid: number;
  readonly excess: number;
}
const NONE_SKIPPED: Skipped = { invalid: 0, excess: 0 };

interface Mirror {
  readonly groups: readonly SliceGroup[];
  readonly skipped: Skipped;
}

interface OpenGroup extends SliceGroup {
  readonly endpoints: Endpoint[];
}

function mirrorOf(endpoints: Endpoints): Mirror {
  const groups = new Map<string, OpenGroup>();
  let skipped = NONE_SKIPPED;
  for (const subset of endpoints.subsets ?? []) {
    const all = endpointsOf(subset);
    const valid = all.filter(({ addresses: [ip = ''] }) => isIP(ip) !== 0);
    const mirrored = valid.slice(0, MIRRORED_ENDPOINTS_PER_SUBSET_MAX);
    for (const endpoint of mirrored) groupFor(groups, subset, endpoint).endpoints.push(endpoint);
    const invalid = skipped.invalid + all.length - valid.length;
    skipped = { invalid, excess: skipped.excess + valid.length - mirrored.length };
  }
  return { groups: [...groups.values()], skipped };
}

/** Ready ones first: they are the last to be left out. */
const endpointsOf = ({ addresses = [], notReadyAddresses = [] }: EndpointSubset): readonly Endpoint[] => [
  ...addresses.map((address) => endpointOf(address, true)),
  ...notReadyAddresses.map((address) => endpointOf(address, false)),
];

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

function groupFor(groups: Map<string, OpenGroup>, { ports = [] }: EndpointSubset, endpoint: Endpoint): OpenGroup {
  const addressType = isIP(endpoint.addresses[0] ?? '') === 6 ? 'IPv6' : 'IPv4';
  const slicePorts = ports.map(
    ({ name = '', port, protocol = 'TCP', appProtocol }): DiscoveryV1EndpointPort => ({
      name,
      port,
      protocol,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    }),
  );
  const key = `${addressType}/${keyOfPorts(slicePorts)}`;
  const group = groups.get(key) ?? { addressType, ports: slicePorts, endpoints: [] };
  groups.set(key, group);
  return group;
}

function eventsOf({ invalid, excess }: Skipped): readonly MirrorEvent[] {
  const events: MirrorEvent[] = [];
  if (invalid > 0) {
    const message = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
    events.push({ type: 'Warning', reason: 'InvalidIPAddress', message });
  }
  if (excess > 0) {
    const message = `A max of ${MIRRORED_ENDPOINTS_PER_SUBSET_MAX} addresses can be mirrored to EndpointSlices per Endpoints subset. ${excess} addresses were skipped`;
    events.push({ type: 'Warning', reason: 'TooManyAddressesToMirror', message });
  }
  return events;
}
