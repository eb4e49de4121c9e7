import type { DiscoveryV1EndpointPort, Endpoint, EndpointSlice, Pod, Service } from '@holdfast/api';
import { canonicalJson, isSame, safeSuffix } from '../../common/hash.ts';
import { byName, controllerReference, isTerminating, nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { isReady } from '../../common/pods.ts';
import {
  type BackendPort,
  HEADLESS_LABEL,
  hostnameOf,
  isHeadless,
  isIpv6,
  podIpsOf,
  podReference,
  portsOf,
} from '../../common/service-backends.ts';
import { ENDPOINTS_PER_SLICE_MAX } from '../../limits.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const MANAGED_BY = 'endpointslice-controller.k8s.io';
const RESERVED_LABELS: ReadonlySet<string> = new Set([SERVICE_NAME_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL]);

export interface SliceSnapshot {
  readonly service: Service;
  readonly pods: readonly Pod[];
  /** The slices of this service that this controller made. */
  readonly slices: readonly EndpointSlice[];
  readonly zoneOf: (nodeName: string) => string | undefined;
}

export type SliceAction = { readonly kind: 'create' | 'update' | 'delete'; readonly slice: EndpointSlice };

/** What brings the slices to what the pods are, with as few writes as possible. */
export function decide(snapshot: SliceSnapshot): readonly SliceAction[] {
  const families = snapshot.service.spec?.ipFamilies ?? ['IPv4'];
  const foreign = snapshot.slices.filter(({ addressType }) => !families.includes(addressType));
  return [...foreign.map(remove), ...families.flatMap((addressType) => decideFamily(snapshot, addressType))];
}

const remove = (slice: EndpointSlice): SliceAction => ({ kind: 'delete', slice });

function decideFamily(snapshot: SliceSnapshot, addressType: string): readonly SliceAction[] {
  const slices = snapshot.slices.filter((slice) => slice.addressType === addressType).sort(byName);
  const wanted = wantedByPorts(snapshot, addressType);
  if (wanted.size === 0) wanted.set('[]', { ports: [], endpoints: [] });
  const namer = new SliceNamer(snapshot, addressType);
  const actions: SliceAction[] = [];
  for (const [portsKey, group] of wanted) {
    const existing = slices.filter(({ ports }) => keyOfPorts(ports ?? []) === portsKey);
    actions.push(...decideGroup(snapshot.service, { addressType, group, existing, namer }));
  }
  const obsolete = slices.filter(({ ports }) => !wanted.has(keyOfPorts(ports ?? [])));
  return [...actions, ...obsolete.map(remove)];
}

interface Group {
  readonly ports: readonly BackendPort[];
  readonly endpoints: Endpoint[];
}

/** Pods that serve the same ports share slices. */
function wantedByPorts({ service, pods, zoneOf }: SliceSnapshot, addressType: string): Map<string, Group> {
  const wanted = new Map<string, Group>();
  for (const pod of [...pods].sort(byName)) {
    const endpoint = endpointOf(service, pod, addressType, zoneOf);
    if (endpoint === undefined) continue;
    const ports = portsOf(service, pod);
    const key = keyOfPorts(ports);
    const group = wanted.get(key) ?? { ports, endpoints: [] };
    group.endpoints.push(endpoint);
    wanted.set(key, group);
  }
  return wanted;
}

function endpointOf(
  service: Service,
  pod: Pod,
  addressType: string,
  zoneOf: SliceSnapshot['zoneOf'],
): Endpoint | undefined {
  const addresses = podIpsOf(pod).filter((ip) => isIpv6(ip) === (addressType === 'IPv6'));
  if (addresses.length === 0) return undefined;
  const serving = isReady(pod);
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
  };
}

interface GroupPlan {
  readonly addressType: string;
  readonly group: Group;
  readonly existing: readonly EndpointSlice[];
  readonly namer: SliceNamer;
}

/** Every endpoint stays in the slice where it is; new ones fill slices that change anyway, then those with room, then new slices. */
function decideGroup(service: Service, { addressType, group, existing, namer }: GroupPlan): readonly SliceAction[] {
  const left = new Map(group.endpoints.map((endpoint) => [keyOfEndpoint(endpoint), endpoint]));
  const kept = existing.map((slice) => ({ slice, endpoints: takeKnown(slice, left), changed: false }));
  for (const entry of kept) entry.changed = !isSame(entry.endpoints, entry.slice.endpoints ?? []);
  const fresh = [...left.values()];
  for (const entry of [...kept].sort((a, b) => Number(b.changed) - Number(a.changed))) {
    const room = ENDPOINTS_PER_SLICE_MAX - entry.endpoints.length;
    if (fresh.length > 0 && room > 0) entry.endpoints.push(...fresh.splice(0, room));
  }
  const chunks: Endpoint[][] = [];
  while (fresh.length > 0) chunks.push(fresh.splice(0, ENDPOINTS_PER_SLICE_MAX));
  if (kept.length === 0 && chunks.length === 0) chunks.push([]);
  const survivors = group.endpoints.length === 0 ? kept.slice(0, 1) : kept.filter((e) => e.endpoints.length > 0);
  return [
    ...kept.filter((entry) => !survivors.includes(entry)).map(({ slice }) => remove(slice)),
    ...survivors.flatMap(({ slice, endpoints }) => updateOf(service, slice, endpoints)),
    ...chunks.map((endpoints): SliceAction => {
      const named = namer.next(keyOfPorts(group.ports));
      return { kind: 'create', slice: newSlice(service, { name: named, addressType, ports: group.ports, endpoints }) };
    }),
  ];
}

function takeKnown(slice: EndpointSlice, left: Map<string, Endpoint>): Endpoint[] {
  const known: Endpoint[] = [];
  for (const endpoint of slice.endpoints ?? []) {
    const key = keyOfEndpoint(endpoint);
    const wanted = left.get(key);
    if (wanted === undefined) continue;
    known.push(wanted);
    left.delete(key);
  }
  return known;
}

function updateOf(service: Service, slice: EndpointSlice, endpoints: readonly Endpoint[]): readonly SliceAction[] {
  const labels = labelsOf(service);
  if (isSame(slice.endpoints ?? [], endpoints) && isSame(slice.metadata.labels, labels)) return [];
  const metadata = { ...slice.metadata, labels };
  return [{ kind: 'update', slice: { ...slice, metadata, endpoints: [...endpoints] } }];
}

function newSlice(
  service: Service,
  of: {
    readonly name: string;
    readonly addressType: string;
    readonly ports: readonly BackendPort[];
    readonly endpoints: Endpoint[];
  },
): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: of.name,
      generateName: `${nameOf(service)}-`,
      namespace: namespaceOf(service),
      labels: labelsOf(service),
      ownerReferences: [controllerReference(service, { apiVersion: 'v1', kind: 'Service' })],
    },
    addressType: of.addressType,
    endpoints: of.endpoints,
    ports: [...of.ports],
  };
}

function labelsOf(service: Service): Record<string, string> {
  const own = Object.entries(service.metadata.labels ?? {}).filter(([key]) => !RESERVED_LABELS.has(key));
  return {
    ...Object.fromEntries(own),
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [SERVICE_NAME_LABEL]: nameOf(service),
    ...(isHeadless(service) ? { [HEADLESS_LABEL]: '' } : {}),
  };
}

/** One address of one pod: a later pod of the same name is another endpoint. */
const keyOfEndpoint = ({ addresses, targetRef }: Endpoint): string => `${targetRef?.uid ?? ''}/${addresses.join()}`;

const keyOfPorts = (ports: readonly DiscoveryV1EndpointPort[]): string =>
  canonicalJson(ports.map((port) => ({ name: '', protocol: 'TCP', ...port })).sort(byPortName));

const byPortName = (a: { readonly name?: string }, b: { readonly name?: string }): number =>
  (a.name ?? '') < (b.name ?? '') ? -1 : 1;

/** Two managers that miss the same slice ask for the same name, and create-if-absent lets one through. */
class SliceNamer {
  readonly #service: Service;
  readonly #addressType: string;
  readonly #taken: Set<string>;

  constructor({ service, slices }: SliceSnapshot, addressType: string) {
    this.#service = service;
    this.#addressType = addressType;
    this.#taken = new Set(slices.map(nameOf));
  }

  next(portsKey: string): string {
    for (let n = 0; ; n++) {
      const suffix = safeSuffix(`${uidOf(this.#service)}/${this.#addressType}/${portsKey}/${n}`);
      const name = `${nameOf(this.#service)}-${suffix}`;
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
  }
}
