import type { KubeObject, ResourceDefinition, Service } from '@holdfast/api';
import type { StatusError } from '@holdfast/machinery';
import type { Ids } from '@holdfast/platform';
import type { Store, StoreKey, WriteOperation } from '@holdfast/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import {
  addressKey,
  type Claim,
  claimsOf,
  claimValue,
  isHeldBy,
  isNodePortKey,
  nodePortKey,
  oldClaimsOf,
} from './claims.ts';
import { isHeadless, settleFamilies } from './ip-families.ts';
import { addressText, NODE_PORTS, type Range, valuesFrom } from './ranges.ts';
import {
  allocationFailure,
  needsHealthPort,
  needsNodePorts,
  refusedAddress,
  refusedHealthPort,
  refusedPort,
  settleRequests,
  TAKEN,
} from './requests.ts';

export interface Allocation {
  /** The object with everything it was given. */
  readonly object: KubeObject;
  /** Belong into the same write as the object: then neither a crash nor a refusal leaves anything behind. */
  readonly operations: readonly WriteOperation[];
  /**
   * Another service has the value of the n-th operation: tries the next one, or throws when the client requested this
   * value.
   */
  readonly lost: (index: number) => void;
}

export interface ServiceChange {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
}

export interface AllocationRequest extends Omit<ServiceChange, 'object'> {
  /** Absent when the object is removed. */
  readonly object: KubeObject | undefined;
  /** Values that turned out to be taken; grows with `lost`. */
  readonly avoid: Set<StoreKey>;
}

export interface ServiceAllocator {
  /**
   * Before an object is validated: gives a service what follows from itself alone and refuses what cannot be given. Clients
   * are told of that alone, whatever else is wrong with the service.
   */
  settle(change: ServiceChange): void;
  /** The result of a dry run. Refuses a port of another service; does not check addresses. */
  rehearse(change: ServiceChange): Promise<KubeObject>;
  /** Synchronous for everything except services. */
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
    settle: ({ definition, object, old }) => {
      if (isService(definition)) settleService(deps, asService(object), old);
    },
    rehearse: async (change) => (isService(change.definition) ? rehearseService(deps, change) : change.object),
    allocate: (request) =>
      isService(request.definition) ? allocateService(deps, request) : nothing(request.object ?? request.old),
  };
}

const isService = ({ group, plural }: ResourceDefinition): boolean => group === '' && plural === 'services';

function settleService({ addresses }: ServiceAllocatorDeps, service: Service, old: KubeObject | undefined): void {
  const before = old === undefined ? undefined : asService(old);
  settleFamilies(service, before);
  settleRequests(service, before, addresses);
}

async function rehearseService(deps: ServiceAllocatorDeps, change: ServiceChange): Promise<KubeObject> {
  const { object, operations, lost } = await allocateService(deps, { ...change, avoid: new Set() });
  for (const [i, { kind, key }] of operations.entries()) {
    if (kind === 'create' && isNodePortKey(key) && (await deps.store.get(key)).object !== undefined) lost(i);
  }
  return object;
}

async function allocateService(
  deps: ServiceAllocatorDeps,
  { object, old, avoid }: AllocationRequest,
): Promise<Allocation> {
  const wanted = object === undefined ? undefined : asService(structuredClone(object));
  const before = old === undefined ? [] : claimsOf(asService(old));
  const chosen = new Set<StoreKey>();
  if (wanted !== undefined) fill(deps, wanted, { avoid, chosen, held: new Set(before.map(({ key }) => key)) });
  const after = wanted === undefined ? [] : claimsOf(wanted);
  const added = without(after, before);
  const creations = added.map(
    ({ key, name }): WriteOperation => ({
      kind: 'create',
      key,
      value: claimValue(name, wanted ?? asService(old)),
    }),
  );
  const removals = old === undefined ? [] : await releases(deps, without(oldClaimsOf(asService(old)), after), old);
  return {
    object: wanted ?? asService(old),
    operations: [...creations, ...removals],
    lost: (index) => {
      const claim = added[index];
      if (claim === undefined) return;
      if (wanted !== undefined && !chosen.has(claim.key)) throw refusal(wanted, claim);
      avoid.add(claim.key);
    },
  };
}

const asService = (object: KubeObject | undefined): Service => object as Service;

const nothing = (object: KubeObject | undefined): Allocation => ({
  object: object as KubeObject,
  operations: NO_OPERATIONS,
  lost: nothingToAvoid,
});

const NO_OPERATIONS: readonly WriteOperation[] = [];
const nothingToAvoid = (): void => {};

function without(claims: readonly Claim[], others: readonly Claim[]): readonly Claim[] {
  const keys = new Set(others.map(({ key }) => key));
  return claims.filter(({ key }) => !keys.has(key));
}

interface Choice {
  readonly avoid: ReadonlySet<StoreKey>;
  /** Keys that the server picked; the client did not ask for these. */
  readonly chosen: Set<StoreKey>;
  /** Claims that the service has already. */
  readonly held: ReadonlySet<StoreKey>;
  /** The remaining candidates: all earlier ones are taken. */
  readonly left?: Generator<number>;
}

function fill(deps: ServiceAllocatorDeps, service: Service, choice: Choice): void {
  const { spec } = service;
  if (spec.type !== 'ExternalName' && !isHeadless(service) && !spec.clusterIP) {
    const address = addressText(pick(deps, addressOf(deps.addresses), choice));
    spec.clusterIP = address;
    spec.clusterIPs = [address];
  }
  const named = new Set((spec.ports ?? []).map(({ nodePort }) => nodePortKey(nodePort ?? 0)));
  const ports = { ...choice, held: new Set([...choice.held, ...named, nodePortKey(spec.healthCheckNodePort ?? 0)]) };
  if (needsNodePorts(service)) fillNodePorts(deps, service, ports);
  if (needsHealthPort(service) && !spec.healthCheckNodePort) {
    spec.healthCheckNodePort = pick(deps, HEALTH_PORT, ports);
  }
}

/** The same port over another protocol gets the same node port. */
function fillNodePorts(deps: ServiceAllocatorDeps, { spec }: Service, choice: Choice): void {
  const known = new Map<number, { readonly nodePort: number; readonly protocols: Set<string | undefined> }>();
  // Ports of one service may stand side by side: a search from a new place for each takes long when few are left.
  const left = candidates(deps.ids, NODE_PORTS);
  for (const port of spec.ports ?? []) {
    const shared = known.get(port.port);
    if (!port.nodePort && shared !== undefined && !shared.protocols.has(port.protocol)) port.nodePort = shared.nodePort;
    port.nodePort ||= pick(deps, NODE_PORT, { ...choice, left });
    const entry = known.get(port.port) ?? { nodePort: port.nodePort, protocols: new Set() };
    entry.protocols.add(port.protocol);
    known.set(port.port, entry);
  }
}

interface Kind {
  readonly range: Range;
  readonly keyOf: (value: number) => StoreKey;
  /** For the error message when none is left. */
  readonly what: string;
}

const NODE_PORT: Kind = { range: NODE_PORTS, keyOf: nodePortKey, what: 'nodePort' };
const HEALTH_PORT: Kind = { range: NODE_PORTS, keyOf: nodePortKey, what: 'HealthCheck NodePort 0' };
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
  const left = choice.left ?? candidates(ids, range);
  // Not `for`: leaving such a loop closes the generator, which the next port must continue.
  for (let step = left.next(); step.done !== true; step = left.next()) {
    if (isTaken(step.value)) continue;
    choice.chosen.add(keyOf(step.value));
    return step.value;
  }
  throw rangeIsFull(what);
}

/** Spreads what several apiservers pick at the same time, so that they seldom meet. */
const candidates = (ids: Ids, range: Range): Generator<number> =>
  valuesFrom(range, Number.parseInt(ids.uuid().slice(0, 8), 16));

const rangeIsFull = (what: string): StatusError => allocationFailure(`failed to allocate a ${what}: range is full`);

function refusal(service: Service, { field, name }: Claim): Error {
  if (field === 'healthCheckNodePort') return refusedHealthPort(Number(name), TAKEN);
  if (field === 'clusterIPs') return refusedAddress(service, name, 'provided IP is already allocated');
  return refusedPort(service, field, Number(name), TAKEN);
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
    if (object === undefined || !isHeldBy(object.value, asService(old))) continue;
    operations.push({ kind: 'delete', key, value: object.value, expectedRevision: object.revision });
  }
  return operations;
}
