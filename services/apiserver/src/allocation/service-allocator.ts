import type { Service } from '@holdfast/api';
import type { StatusError } from '@holdfast/machinery';
import type { Ids } from '@holdfast/platform';
import type { StoreKey } from '@holdfast/store';
import type { Allocator, Choice } from './claim-companion.ts';
import type { ClaimReader } from './claims.ts';
import { isHeadless } from './ip-families.ts';
import { addressText, NODE_PORTS, type Range, valuesFrom } from './ranges.ts';
import {
  allocationFailure,
  needsHealthPort,
  needsNodePorts,
  refusedAddress,
  refusedHealthPort,
  refusedPort,
  TAKEN,
} from './requests.ts';
import { addressKey, claimsOf, isNodePortKey, nodePortKey, oldClaimsOf, type ServiceClaim } from './service-claims.ts';

export interface ServiceAllocatorDeps {
  readonly claims: ClaimReader;
  readonly ids: Ids;
  readonly serviceAddresses: Range;
}

/** Gives services their addresses and node ports. */
export const serviceAllocator = (deps: ServiceAllocatorDeps): Allocator<Service, ServiceClaim> => ({
  claimKind: 'ServiceClaim',
  claimsOf,
  releasable: oldClaimsOf,
  fill: (service, choice) => fill(deps, service, choice),
  refusal,
  isRehearsed: ({ key }) => isNodePortKey(key),
});

function fill(deps: ServiceAllocatorDeps, service: Service, choice: Choice): void {
  const { spec } = service;
  if (spec.type !== 'ExternalName' && !isHeadless(service) && !spec.clusterIP) {
    const address = addressText(pick(deps, addressOf(deps.serviceAddresses), choice));
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

interface Search extends Choice {
  /** The remaining candidates: all earlier ones are taken. */
  readonly left?: Generator<number>;
}

function pick({ claims, ids }: ServiceAllocatorDeps, { range, keyOf, what }: Kind, search: Search): number {
  const isTaken = (value: number): boolean => {
    const key = keyOf(value);
    return search.avoid.has(key) || search.chosen.has(key) || search.held.has(key) || claims.isKnown(key);
  };
  const left = search.left ?? candidates(ids, range);
  // Not `for`: leaving such a loop closes the generator, which the next port must continue.
  for (let step = left.next(); step.done !== true; step = left.next()) {
    if (isTaken(step.value)) continue;
    search.chosen.add(keyOf(step.value));
    return step.value;
  }
  throw rangeIsFull(what);
}

/** Spreads what several apiservers pick at the same time, so that they seldom meet. */
const candidates = (ids: Ids, range: Range): Generator<number> =>
  valuesFrom(range, Number.parseInt(ids.uuid().slice(0, 8), 16));

const rangeIsFull = (what: string): StatusError => allocationFailure(`failed to allocate a ${what}: range is full`);

function refusal(service: Readonly<Service>, { field, name }: ServiceClaim): Error {
  if (field === 'healthCheckNodePort') return refusedHealthPort(Number(name), TAKEN);
  if (field === 'clusterIPs') return refusedAddress(service, name, 'provided IP is already allocated');
  return refusedPort(service, field, Number(name), TAKEN);
}
