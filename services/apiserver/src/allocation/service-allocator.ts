import type { KubeObject, ResourceDefinition, Service } from '@holdfast/api';
import { invalid, StatusError, unclassifiedError, Verbatim } from '@holdfast/machinery';
import type { Ids } from '@holdfast/platform';
import type { Store, StoreKey, WriteOperation } from '@holdfast/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import { addressKey, type Claim, claimsOf, claimValue, isHeldBy, nodePortKey } from './claims.ts';
import { invalidService, isHeadless, settleFamilies } from './ip-families.ts';
import { addressNumber, addressText, isWithin, NODE_PORTS, pickFree, type Range } from './ranges.ts';

export interface Allocation {
  /** The object with everything it was given. */
  readonly object: KubeObject;
  /** Belong into the same write as the object: then neither a crash nor a refusal leaves anything behind. */
  readonly operations: readonly WriteOperation[];
  /** Another service has the n-th of the operations: tries another value next, or throws when the client asked for this one. */
  readonly lost: (index: number) => void;
}

export interface AllocationRequest {
  readonly definition: ResourceDefinition;
  /** Absent when the object is removed. */
  readonly object: KubeObject | undefined;
  readonly old: KubeObject | undefined;
  /** Values that turned out to be taken; grows with `lost`. */
  readonly avoid: Set<StoreKey>;
}

export interface ServiceAllocator {
  /** At once for everything that is no service. */
  allocate(request: AllocationRequest): Allocation | Promise<Allocation>;
}

export interface ServiceAllocatorDeps {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly ids: Ids;
  readonly addresses: Range;
}

/** Gives services their addresses and node ports, and takes them back. The store decides who gets what. */
export function createServiceAllocator(deps: ServiceAllocatorDeps): ServiceAllocator {
  return {
    allocate: (request) =>
      request.definition.group === '' && request.definition.plural === 'services'
        ? allocateService(deps, request)
        : nothing(request.object ?? request.old),
  };
}

async function allocateService(
  deps: ServiceAllocatorDeps,
  { object, old, avoid }: AllocationRequest,
): Promise<Allocation> {
  const wanted = object === undefined ? undefined : decodeService(structuredClone(object));
  const before = old === undefined ? [] : claimsOf(decodeService(old));
  const chosen = new Set<StoreKey>();
  if (wanted !== undefined) fill(deps, wanted, { avoid, chosen, held: new Set(before.map(({ key }) => key)) });
  const after = wanted === undefined ? [] : claimsOf(wanted);
  const added = without(after, before);
  if (wanted !== undefined) checkRanges(deps, wanted, added);
  const creations = added.map(
    ({ key, name }): WriteOperation => ({
      kind: 'create',
      key,
      value: claimValue(name, wanted ?? decodeService(old)),
    }),
  );
  const removals = await releases(deps, without(before, after), old);
  return {
    object: wanted ?? decodeService(old),
    operations: [...creations, ...removals],
    lost: (index) => {
      const claim = added[index];
      if (claim === undefined) return;
      if (wanted !== undefined && !chosen.has(claim.key)) throw refusal(wanted, claim, 'is already allocated');
      avoid.add(claim.key);
    },
  };
}

const decodeService = (object: KubeObject | undefined): Service => object as Service;

const nothing = (object: KubeObject | undefined): Allocation => ({
  object: object as KubeObject,
  operations: NO_OPERATIONS,
  lost: nothingToAvoid,
});

const NO_OPERATIONS: readonly WriteOperation[] = [];
const nothingToAvoid = (): void => {};

const without = (claims: readonly Claim[], others: readonly Claim[]): readonly Claim[] =>
  claims.filter(({ key }) => others.every((other) => other.key !== key));

interface Choice {
  readonly avoid: ReadonlySet<StoreKey>;
  /** Keys that the server picked; the client did not ask for these. */
  readonly chosen: Set<StoreKey>;
  /** What the service has already. */
  readonly held: ReadonlySet<StoreKey>;
}

function fill(deps: ServiceAllocatorDeps, service: Service, choice: Choice): void {
  const { spec } = service;
  settleFamilies(service);
  if (spec.type !== 'ExternalName' && !isHeadless(service) && !spec.clusterIP) {
    const address = addressText(pick(deps, addressOf(deps.addresses), choice));
    spec.clusterIP = address;
    spec.clusterIPs = [address];
  }
  const named = new Set((spec.ports ?? []).map(({ nodePort }) => nodePortKey(nodePort ?? 0)));
  const ports = { ...choice, held: new Set([...choice.held, ...named, nodePortKey(spec.healthCheckNodePort ?? 0)]) };
  if (needsNodePorts(service)) fillNodePorts(deps, service, ports);
  if (spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local' && !spec.healthCheckNodePort) {
    spec.healthCheckNodePort = pick(deps, HEALTH_PORT, ports);
  }
}

const needsNodePorts = ({ spec }: Readonly<Service>): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);

/** The same port over another protocol gets the same node port. */
function fillNodePorts(deps: ServiceAllocatorDeps, { spec }: Service, choice: Choice): void {
  const known = new Map<number, { readonly nodePort: number; readonly protocols: Set<string | undefined> }>();
  for (const port of spec.ports ?? []) {
    const shared = known.get(port.port);
    if (!port.nodePort && shared !== undefined && !shared.protocols.has(port.protocol)) port.nodePort = shared.nodePort;
    port.nodePort ||= pick(deps, NODE_PORT, choice);
    const entry = known.get(port.port) ?? { nodePort: port.nodePort, protocols: new Set() };
    entry.protocols.add(port.protocol);
    known.set(port.port, entry);
  }
}

interface Kind {
  readonly range: Range;
  readonly keyOf: (value: number) => StoreKey;
  /** For the sentence that says that none is left. */
  readonly what: string;
}

const NODE_PORT: Kind = { range: NODE_PORTS, keyOf: nodePortKey, what: 'nodePort' };
const HEALTH_PORT: Kind = { range: NODE_PORTS, keyOf: nodePortKey, what: 'HealthCheck NodePort' };
const addressOf = (range: Range): Kind => ({
  range,
  keyOf: (value) => addressKey(addressText(value)),
  what: 'serviceIP',
});

function pick({ cache, ids }: ServiceAllocatorDeps, { range, keyOf, what }: Kind, choice: Choice): number {
  const isTaken = (value: number): boolean => {
    const key = keyOf(value);
    return choice.avoid.has(key) || choice.chosen.has(key) || choice.held.has(key) || cache.byKey(key) !== undefined;
  };
  // Spreads what several apiservers pick at the same time, so that they seldom meet.
  const value = pickFree(range, Number.parseInt(ids.uuid().slice(0, 8), 16), isTaken);
  if (value === undefined) throw rangeIsFull(what);
  choice.chosen.add(keyOf(value));
  return value;
}

const rangeIsFull = (what: string): StatusError => {
  const why = `failed to allocate a ${what}: range is full`;
  return new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${why}`,
    details: { causes: [{ message: why }] },
  });
};

function checkRanges({ addresses }: ServiceAllocatorDeps, service: Service, added: readonly Claim[]): void {
  for (const claim of added) {
    if (claim.field === 'clusterIPs') {
      if (isWithin(addresses, addressNumber(claim.name) ?? 0)) continue;
      throw refusal(
        service,
        claim,
        `(${claim.name}) is not in the valid range. The range of valid IPs is ${addresses.text}`,
      );
    }
    if (isWithin(NODE_PORTS, Number(claim.name))) continue;
    throw refusal(service, claim, `is not in the valid range. The range of valid ports is ${NODE_PORTS.text}`);
  }
}

function refusal(service: Service, { field, name }: Claim, why: string): Error {
  if (field === 'healthCheckNodePort') {
    return unclassifiedError(`failed to allocate requested HealthCheck NodePort ${name}: provided port ${why}`);
  }
  if (field === 'clusterIPs') {
    const shown = new Verbatim(
      `[]string{${(service.spec.clusterIPs ?? []).map((ip) => JSON.stringify(ip)).join(', ')}}`,
    );
    const subject = why.startsWith('(') ? 'the provided IP' : 'provided IP';
    return invalidService(service, [
      invalid('spec.clusterIPs', shown, `failed to allocate IP ${name}: ${subject} ${why}`),
    ]);
  }
  return invalidService(service, [invalid(`spec.ports[${field}].nodePort`, Number(name), `provided port ${why}`)]);
}

/** Only what was claimed for this very service is given back. */
async function releases(
  { store }: ServiceAllocatorDeps,
  claims: readonly Claim[],
  old: KubeObject | undefined,
): Promise<readonly WriteOperation[]> {
  const operations: WriteOperation[] = [];
  for (const { key } of claims) {
    const { object } = await store.get(key);
    if (object === undefined || !isHeldBy(object.value, decodeService(old))) continue;
    operations.push({ kind: 'delete', key, value: object.value, expectedRevision: object.revision });
  }
  return operations;
}
