import {
  type Endpoint,
  type EndpointSlice,
  HEADLESS_LABEL,
  isPodReady,
  type Pod,
  prefersClose,
  SERVICE_NAME_LABEL,
  type Service,
} from '@holdfast/api';
import {
  keyOfPorts,
  MANAGED_BY_LABEL,
  planSlices,
  RESERVED_SLICE_LABELS,
  type SliceAction,
  type SliceGroup,
  type SliceOwner,
} from '../../common/endpoint-slices.ts';
import { byName, isTerminating, nameOf } from '../../common/meta.ts';
import { hostnameOf, isHeadless, isIpv6, podIpsOf, podReference, portsOf } from '../../common/service-backends.ts';
import { ENDPOINTS_PER_SLICE_MAX } from '../../limits.ts';

export const MANAGED_BY = 'endpointslice-controller.k8s.io';

export interface SliceSnapshot {
  readonly service: Service;
  readonly pods: readonly Pod[];
  /** The slices of this service that this controller made. */
  readonly slices: readonly EndpointSlice[];
  readonly isNameTaken: SliceOwner['isNameTaken'];
  readonly zoneOf: (nodeName: string) => string | undefined;
}

/** Plans the writes that make the slices match the pods. */
export function decide(snapshot: SliceSnapshot): readonly SliceAction[] {
  const { service, slices, isNameTaken } = snapshot;
  const owner: SliceOwner = {
    object: service,
    type: { apiVersion: 'v1', kind: 'Service' },
    labels: labelsOf(service),
    endpointsPerSliceMax: ENDPOINTS_PER_SLICE_MAX,
    isNameTaken,
  };
  const families = service.spec?.ipFamilies ?? ['IPv4'];
  return planSlices(
    owner,
    families.flatMap((family) => wantedByPorts(snapshot, family)),
    slices,
  );
}

interface OpenGroup extends SliceGroup {
  readonly endpoints: Endpoint[];
}

/** Pods that serve the same ports share slices. A service without pods keeps one empty slice. */
function wantedByPorts({ service, pods, zoneOf }: SliceSnapshot, addressType: string): readonly SliceGroup[] {
  const wanted = new Map<string, OpenGroup>();
  for (const pod of [...pods].sort(byName)) {
    const endpoint = endpointOf(service, pod, addressType, zoneOf);
    if (endpoint === undefined) continue;
    const ports = portsOf(service, pod);
    const key = keyOfPorts(ports);
    const group: OpenGroup = wanted.get(key) ?? { addressType, ports, endpoints: [] };
    group.endpoints.push(endpoint);
    wanted.set(key, group);
  }
  return wanted.size === 0 ? [{ addressType, ports: [], endpoints: [] }] : [...wanted.values()];
}

function endpointOf(
  service: Service,
  pod: Pod,
  addressType: string,
  zoneOf: SliceSnapshot['zoneOf'],
): Endpoint | undefined {
  const addresses = podIpsOf(pod).filter((ip) => isIpv6(ip) === (addressType === 'IPv6'));
  if (addresses.length === 0) return undefined;
  const serving = isPodReady(pod);
  const terminating = isTerminating(pod);
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const nodeName = pod.spec?.nodeName ?? '';
  const zone = zoneOf(nodeName);
  const hostname = hostnameOf(service, pod);
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
    targetRef: podReference(pod),
    ...(zone === undefined ? {} : { zone }),
    ...(zone !== undefined && ready && prefersClose(service) ? { hints: { forZones: [{ name: zone }] } } : {}),
  };
}

function labelsOf(service: Service): Record<string, string> {
  const own = Object.entries(service.metadata.labels ?? {}).filter(([key]) => !RESERVED_SLICE_LABELS.has(key));
  return {
    ...Object.fromEntries(own),
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [SERVICE_NAME_LABEL]: nameOf(service),
    ...(isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {}),
  };
}
