import {
  type DiscoveryV1EndpointPort,
  type Endpoint,
  type EndpointSlice,
  HEADLESS_LABEL,
  type KubeObject,
  SERVICE_NAME_LABEL,
} from '@holdfast/api';
import { canonicalJson, isSame, safeSuffix } from './hash.ts';
import { byName, controllerReference, nameOf, namespaceOf, uidOf } from './meta.ts';

export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
/** Labels that the controller sets on its slices; the owner's labels cannot override them. */
export const RESERVED_SLICE_LABELS: ReadonlySet<string> = new Set([
  SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  HEADLESS_LABEL,
]);

export type SliceAction = { readonly kind: 'create' | 'update' | 'delete'; readonly slice: EndpointSlice };

/** The owner of the slices, and their common fields. */
export interface SliceOwner {
  readonly object: KubeObject;
  readonly type: { readonly apiVersion: string; readonly kind: string };
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly endpointsPerSliceMax: number;
  /** True when any slice in the namespace has the name. */
  readonly isNameTaken: (name: string) => boolean;
}

/** Endpoints that may share slices. */
export interface SliceGroup {
  readonly addressType: string;
  readonly ports: readonly DiscoveryV1EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** Plans the fewest writes that turn the slices of an owner into these groups; removals come last. */
export function planSlices(
  owner: SliceOwner,
  groups: readonly SliceGroup[],
  slices: readonly EndpointSlice[],
): readonly SliceAction[] {
  const existing = new Map<string, EndpointSlice[]>();
  for (const slice of [...slices].sort(byName)) {
    const key = keyOfGroup(slice.addressType, slice.ports ?? []);
    existing.set(key, [...(existing.get(key) ?? []), slice]);
  }
  const namer = new SliceNamer(owner);
  const actions: SliceAction[] = [];
  for (const group of groups) {
    const key = keyOfGroup(group.addressType, group.ports);
    actions.push(...planGroup({ owner, group, namer, existing: existing.get(key) ?? [] }));
    existing.delete(key);
  }
  return [...actions, ...[...existing.values()].flat().map(remove)];
}

const remove = (slice: EndpointSlice): SliceAction => ({ kind: 'delete', slice });

interface GroupPlan {
  readonly owner: SliceOwner;
  readonly group: SliceGroup;
  readonly existing: readonly EndpointSlice[];
  readonly namer: SliceNamer;
}

/** Every endpoint stays in the slice where it is; new ones fill slices that change anyway, then those with room, then new slices. */
function planGroup({ owner, group, existing, namer }: GroupPlan): readonly SliceAction[] {
  const left = new Map(group.endpoints.map((endpoint) => [keyOfEndpoint(endpoint), endpoint]));
  const kept = existing.map((slice) => ({ slice, endpoints: takeKnown(slice, left), changed: false }));
  for (const entry of kept) entry.changed = !isSame(entry.endpoints, entry.slice.endpoints ?? []);
  const fresh = [...left.values()];
  for (const entry of [...kept].sort((a, b) => Number(b.changed) - Number(a.changed))) {
    const room = owner.endpointsPerSliceMax - entry.endpoints.length;
    if (fresh.length > 0 && room > 0) entry.endpoints.push(...fresh.splice(0, room));
  }
  const chunks: Endpoint[][] = [];
  while (fresh.length > 0) chunks.push(fresh.splice(0, owner.endpointsPerSliceMax));
  if (kept.length === 0 && chunks.length === 0) chunks.push([]);
  const survivors = group.endpoints.length === 0 ? kept.slice(0, 1) : kept.filter((e) => e.endpoints.length > 0);
  return [
    ...survivors.flatMap(({ slice, endpoints }) => updateOf(owner, slice, endpoints)),
    ...chunks.map((endpoints): SliceAction => ({ kind: 'create', slice: newSlice(owner, group, namer, endpoints) })),
    ...kept.filter((entry) => !survivors.includes(entry)).map(({ slice }) => remove(slice)),
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

function updateOf(owner: SliceOwner, slice: EndpointSlice, endpoints: readonly Endpoint[]): readonly SliceAction[] {
  const { labels, annotations } = owner;
  const isCurrent =
    isSame(slice.endpoints ?? [], endpoints) &&
    isSame(slice.metadata.labels, labels) &&
    (annotations === undefined || isSame(slice.metadata.annotations ?? {}, annotations));
  if (isCurrent) return [];
  const metadata = { ...slice.metadata, ...marksOf(owner) };
  return [{ kind: 'update', slice: { ...slice, metadata, endpoints: [...endpoints] } }];
}

const marksOf = ({ labels, annotations }: SliceOwner): Pick<KubeObject['metadata'], 'labels' | 'annotations'> => ({
  labels: { ...labels },
  ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
});

function newSlice(
  owner: SliceOwner,
  { addressType, ports }: SliceGroup,
  namer: SliceNamer,
  endpoints: Endpoint[],
): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: namer.next(keyOfGroup(addressType, ports)),
      generateName: `${nameOf(owner.object)}-`,
      namespace: namespaceOf(owner.object),
      ...marksOf(owner),
      ownerReferences: [controllerReference(owner.object, owner.type)],
    },
    addressType,
    endpoints,
    ports: [...ports],
  };
}

/** One address of one pod: a later pod with the same name is another endpoint. */
const keyOfEndpoint = ({ addresses, targetRef }: Endpoint): string => `${targetRef?.uid ?? ''}/${addresses.join()}`;

export const keyOfPorts = (ports: readonly DiscoveryV1EndpointPort[]): string =>
  canonicalJson(ports.map((port) => ({ name: '', protocol: 'TCP', ...port })).sort(byPortName));

const byPortName = (a: { readonly name?: string }, b: { readonly name?: string }): number =>
  (a.name ?? '') < (b.name ?? '') ? -1 : 1;

const keyOfGroup = (addressType: string, ports: readonly DiscoveryV1EndpointPort[]): string =>
  `${addressType}/${keyOfPorts(ports)}`;

/** Two managers that miss the same slice ask for the same name, and create-if-absent lets one through. */
class SliceNamer {
  readonly #owner: SliceOwner;
  readonly #given = new Set<string>();

  constructor(owner: SliceOwner) {
    this.#owner = owner;
  }

  next(groupKey: string): string {
    const { object, isNameTaken } = this.#owner;
    for (let n = 0; ; n++) {
      const name = `${nameOf(object)}-${safeSuffix(`${uidOf(object)}/${groupKey}/${n}`)}`;
      if (this.#given.has(name) || isNameTaken(name)) continue;
      this.#given.add(name);
      return name;
    }
  }
}
