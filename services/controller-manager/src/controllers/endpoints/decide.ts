import {
  type EndpointAddress,
  type EndpointPort,
  type EndpointSubset,
  type Endpoints,
  HEADLESS_LABEL,
  isPodReady,
  OVER_CAPACITY_ANNOTATION,
  type Pod,
  type Service,
} from '@holdfast/api';
import { canonicalJson, isSame } from '../../common/hash.ts';
import { byName, compareText, nameOf, namespaceOf } from '../../common/meta.ts';
import {
  type BackendPort,
  hostnameOf,
  isHeadless,
  isIpv6,
  podIpsOf,
  podReference,
  portsOf,
} from '../../common/service-backends.ts';
import { ENDPOINT_ADDRESSES_MAX } from '../../limits.ts';

export type EndpointsAction =
  | { readonly kind: 'create' | 'update'; readonly endpoints: Endpoints }
  | { readonly kind: 'none' };

/** Returns the object to write, or none when the stored one is up to date. */
export function decide(service: Service, pods: readonly Pod[], stored: Endpoints | undefined): EndpointsAction {
  const all = subsetsOf(service, pods);
  const subsets = truncated(all);
  const isTruncated = subsets !== all;
  const labels = { ...service.metadata.labels, ...(isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {}) };
  const annotations = annotationsOf(stored, isTruncated);
  const metadata = {
    ...stored?.metadata,
    name: nameOf(service),
    namespace: namespaceOf(service),
    labels,
    ...(annotations === undefined ? {} : { annotations }),
  };
  const endpoints: Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets };
  if (stored === undefined) return { kind: 'create', endpoints };
  return isSame(pictureOf(stored), pictureOf(endpoints)) ? { kind: 'none' } : { kind: 'update', endpoints };
}

const pictureOf = ({ metadata, subsets }: Endpoints): unknown => [
  metadata.labels ?? {},
  metadata.annotations?.[OVER_CAPACITY_ANNOTATION],
  subsets ?? [],
];

function annotationsOf(stored: Endpoints | undefined, isTruncated: boolean): Record<string, string> | undefined {
  const { [OVER_CAPACITY_ANNOTATION]: _old, ...others } = stored?.metadata.annotations ?? {};
  if (isTruncated) return { ...others, [OVER_CAPACITY_ANNOTATION]: 'truncated' };
  return stored?.metadata.annotations === undefined ? undefined : others;
}

interface PortGroup {
  readonly port: EndpointPort | undefined;
  readonly addresses: EndpointAddress[];
  readonly notReadyAddresses: EndpointAddress[];
}

/** Ports with the same addresses share a subset, as clients of this old form expect. */
function subsetsOf(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const merged = new Map<string, EndpointSubset>();
  for (const { port, addresses, notReadyAddresses } of byPort(service, pods).values()) {
    const key = canonicalJson([addresses, notReadyAddresses]);
    const subset = merged.get(key) ?? {
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    };
    merged.set(key, port === undefined ? subset : { ...subset, ports: [...(subset.ports ?? []), port] });
  }
  return [...merged.values()];
}

function byPort(service: Service, pods: readonly Pod[]): ReadonlyMap<string, PortGroup> {
  const groups = new Map<string, PortGroup>();
  for (const pod of [...pods].sort(byName)) {
    const address = addressOf(service, pod);
    if (address === undefined) continue;
    for (const port of portsToPublish(service, pod)) {
      const key = canonicalJson(port ?? {});
      const group = groups.get(key) ?? { port: toEndpointPort(port), addresses: [], notReadyAddresses: [] };
      const isPublished = isPodReady(pod) || service.spec?.publishNotReadyAddresses === true;
      (isPublished ? group.addresses : group.notReadyAddresses).push(address);
      groups.set(key, group);
    }
  }
  return new Map([...groups].sort(([a], [b]) => compareText(a, b)));
}

/** A headless service without ports still names its pods. */
const portsToPublish = (service: Service, pod: Pod): readonly (BackendPort | undefined)[] =>
  (service.spec?.ports ?? []).length === 0 && isHeadless(service) ? [undefined] : portsOf(service, pod);

function toEndpointPort(port: BackendPort | undefined): EndpointPort | undefined {
  if (port === undefined) return undefined;
  const { name, ...rest } = port;
  return name === '' ? rest : { name, ...rest };
}

function addressOf(service: Service, pod: Pod): EndpointAddress | undefined {
  const wantsIpv6 = service.spec?.ipFamilies?.[0] === 'IPv6';
  const ip = podIpsOf(pod).find((each) => isIpv6(each) === wantsIpv6);
  if (ip === undefined) return undefined;
  const nodeName = pod.spec?.nodeName ?? '';
  const hostname = hostnameOf(service, pod);
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
    targetRef: podReference(pod),
  };
}

/** The same subsets, or fewer addresses: ready ones first. */
function truncated(subsets: EndpointSubset[]): EndpointSubset[] {
  const count = (part: 'addresses' | 'notReadyAddresses'): number =>
    subsets.reduce((sum, subset) => sum + (subset[part]?.length ?? 0), 0);
  if (count('addresses') + count('notReadyAddresses') <= ENDPOINT_ADDRESSES_MAX) return subsets;
  const cut = cutAt(subsets, 'addresses', ENDPOINT_ADDRESSES_MAX);
  return cutAt(cut, 'notReadyAddresses', Math.max(0, ENDPOINT_ADDRESSES_MAX - count('addresses'))).filter(
    ({ addresses, notReadyAddresses }) => addresses !== undefined || notReadyAddresses !== undefined,
  );
}

function cutAt(
  subsets: readonly EndpointSubset[],
  part: 'addresses' | 'notReadyAddresses',
  max: number,
): EndpointSubset[] {
  let room = max;
  return subsets.map((subset) => {
    const { [part]: addresses = [], ...rest } = subset;
    const kept = addresses.slice(0, room);
    room -= kept.length;
    return kept.length === 0 ? rest : { ...rest, [part]: kept };
  });
}
