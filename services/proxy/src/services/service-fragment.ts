import {
  canonicalIp,
  chooseTargets,
  type EndpointSlice,
  isApiServerService,
  isProxied,
  type Service,
  type ServicePort,
  type TrafficPlace,
  type TrafficTarget,
  trafficTargets,
  virtualIngressAddresses,
} from '@holdfast/api';
import { addressesOf, rangesOfFamily } from '../addresses/ranges.ts';
import { type Fragment, FragmentBuilder } from '../ruleset/fragment.ts';
import { type Family, PROTOCOLS, type Protocol, type Rule, rule, type Verdict, verdict } from '../ruleset/model.ts';
import {
  CLUSTER_ADDRESSES,
  EXTERNAL_MAP,
  isSafeName,
  NODE_PORTS_MAP,
  OWN_PAIRS,
  POD_NETWORKS,
  portId,
  REFUSE_CHAIN,
  SERVICES_MAP,
} from '../ruleset/names.ts';
import { addAffinity, affinitySecondsOf } from './affinity.ts';

export interface ServiceView {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
}

/** One port of one service in one family, with the targets by policy. */
interface PortView {
  readonly family: Family;
  readonly service: Service;
  readonly id: string;
  readonly protocol: Protocol;
  readonly port: ServicePort;
  readonly cluster: readonly TrafficTarget[];
  readonly local: readonly TrafficTarget[];
}

const REFUSE: Verdict = `goto ${REFUSE_CHAIN}`;
/** The places of the API servers win over addresses from outside, which a user can choose. */
const API_PLACE = 0;
const OUTSIDE_ADDRESS = 1;

/** The rules of one service. `undefined`: this program does not serve it. */
export function serviceFragment(
  { service, slices }: ServiceView,
  family: Family,
  place: TrafficPlace,
): Fragment | undefined {
  const { namespace = '', name = '' } = service.metadata;
  if (!isProxied(service) || !isSafeName(namespace) || !isSafeName(name)) return undefined;
  const builder = new FragmentBuilder();
  for (const address of addressesOf(service.spec.clusterIPs ?? [service.spec.clusterIP ?? ''], family)) {
    builder.element(CLUSTER_ADDRESSES, address);
  }
  for (const port of service.spec.ports ?? []) {
    const protocol = PROTOCOLS.find((each) => each === (port.protocol ?? 'TCP'));
    const label = port.name ?? '';
    if (protocol === undefined || (label !== '' && !isSafeName(label))) continue;
    const targets = trafficTargets(slices, port, family === 'ip' ? 'IPv4' : 'IPv6').filter(isSafeTarget);
    const id = portId({ namespace, name }, { protocol, port: label === '' ? `${port.port}` : label });
    addPort(builder, { family, service, id, protocol, port, ...chooseTargets(targets, place) }, place);
  }
  return builder;
}

const isSafeTarget = ({ address, port }: TrafficTarget): boolean =>
  canonicalIp(address) !== undefined && Number.isInteger(port) && port > 0 && port < 65_536;

function addPort(builder: FragmentBuilder, view: PortView, place: TrafficPlace): void {
  const { service, id, cluster, local } = view;
  const isInsideLocal = service.spec.internalTrafficPolicy === 'Local';
  const isOutsideLocal = hasOutside(view) && service.spec.externalTrafficPolicy === 'Local';
  if (!isInsideLocal || hasOutside(view)) addBalance(builder, view, { chain: `cluster/${id}`, targets: cluster });
  if (isInsideLocal || isOutsideLocal) addBalance(builder, view, { chain: `local/${id}`, targets: local });
  addOwnPairs(builder, [...cluster, ...local], place);
  if (isApiServerService(service)) addApiPlaces(builder, view);
  if (view.protocol === 'UDP') addUdpTargets(builder, view);
  addInside(builder, view, isInsideLocal);
  if (hasOutside(view)) addOutside(builder, view, isOutsideLocal);
}

/** The chain that sends a flow to one of `targets`. Without targets there is no chain. */
function addBalance(
  builder: FragmentBuilder,
  { service, id, protocol }: PortView,
  { chain, targets }: { readonly chain: string; readonly targets: readonly TrafficTarget[] },
): void {
  if (targets.length === 0) return;
  const seconds = affinitySecondsOf(service);
  if (seconds !== undefined) {
    addAffinity(builder, { chain, id, protocol, seconds, targets });
    return;
  }
  const texts = targets.map(({ address, port }) => `${canonicalIp(address)} . ${port}`);
  builder.pools.set(chain, { protocol, targets: [...new Set(texts)].toSorted() });
  builder.chains.set(chain, { rules: [rule({ kind: 'balance', protocol, pool: chain })] });
}

/** A target that reaches itself must not see its own address as the source: it would answer past this machine. */
function addOwnPairs(builder: FragmentBuilder, targets: readonly TrafficTarget[], { nodeName }: TrafficPlace): void {
  for (const { address, endpoint } of targets) {
    const isElsewhere = nodeName !== undefined && endpoint.nodeName !== undefined && endpoint.nodeName !== nodeName;
    if (isElsewhere) continue;
    const ip = canonicalIp(address);
    builder.element(OWN_PAIRS, `${ip} . ${ip}`);
  }
}

function addInside(builder: FragmentBuilder, view: PortView, isLocal: boolean): void {
  const { service, family, id, protocol, port, cluster, local } = view;
  const [targets, chain] = isLocal ? [local, `local/${id}`] : [cluster, `cluster/${id}`];
  const value = targets.length > 0 ? (`goto ${chain}` as const) : cluster.length > 0 ? 'drop' : REFUSE;
  for (const address of addressesOf(service.spec.clusterIPs ?? [service.spec.clusterIP ?? ''], family)) {
    builder.element(SERVICES_MAP, destination(address, protocol, port.port), { value });
  }
}

/** A service that received the traffic of an API server would receive the credentials of its clients. */
function addApiPlaces(builder: FragmentBuilder, { protocol, cluster, local }: PortView): void {
  for (const { address, port } of [...cluster, ...local]) {
    const key = destination(canonicalIp(address) ?? '', protocol, port);
    builder.element(EXTERNAL_MAP, key, { value: 'return', rank: API_PLACE });
  }
}

function addUdpTargets(builder: FragmentBuilder, view: PortView): void {
  const { service, family, port, cluster, local } = view;
  const { clusterIP = '', clusterIPs = [clusterIP], externalIPs = [] } = service.spec;
  const targets = [...new Set([...cluster, ...local].map(({ address }) => canonicalIp(address) ?? ''))];
  for (const address of addressesOf([...clusterIPs, ...externalIPs, ...virtualIngressAddresses(service)], family)) {
    builder.udpTargets.set(`${address} ${port.port}`, { address, port: port.port, targets });
  }
  const nodePort = nodePortOf(view);
  if (nodePort !== undefined) builder.udpTargets.set(`node ${nodePort}`, { port: nodePort, targets });
}

const destination = (address: string, protocol: Protocol, port: number): string =>
  `${address} . ${protocol.toLowerCase()} . ${port}`;

function hasOutside({ service, port }: Pick<PortView, 'service' | 'port'>): boolean {
  const { externalIPs = [] } = service.spec;
  return (
    nodePortOf({ service, port }) !== undefined || externalIPs.length > 0 || virtualIngressAddresses(service).length > 0
  );
}

function nodePortOf({ service, port }: Pick<PortView, 'service' | 'port'>): number | undefined {
  const isOpen = service.spec.type === 'NodePort' || service.spec.type === 'LoadBalancer';
  return isOpen && port.nodePort !== undefined && port.nodePort > 0 ? port.nodePort : undefined;
}

function addOutside(builder: FragmentBuilder, view: PortView, isLocal: boolean): void {
  const { service, family, id, protocol, port, cluster, local } = view;
  const chain = `external/${id}`;
  const hasTargets = cluster.length + local.length > 0;
  if (hasTargets) builder.chains.set(chain, { rules: isLocal ? localRules(view) : clusterRules(view) });
  const value = hasTargets ? (`goto ${chain}` as const) : REFUSE;
  const nodePort = nodePortOf(view);
  if (nodePort !== undefined) builder.element(NODE_PORTS_MAP, `${protocol.toLowerCase()} . ${nodePort}`, { value });
  for (const address of addressesOf(service.spec.externalIPs ?? [], family)) {
    builder.element(EXTERNAL_MAP, destination(address, protocol, port.port), { value, rank: OUTSIDE_ADDRESS });
  }
  const balanced = addressesOf(virtualIngressAddresses(service), family);
  const entry = balanced.length > 0 ? addFirewall(builder, view, value) : value;
  for (const address of balanced) {
    builder.element(EXTERNAL_MAP, destination(address, protocol, port.port), { value: entry, rank: OUTSIDE_ADDRESS });
  }
}

/** Answers must come back through this node, so it becomes the source. */
const clusterRules = ({ id }: PortView): readonly Rule[] => [rule({ kind: 'mark' }), verdict(`goto cluster/${id}`)];

/** Clients in the cluster and on this node use all targets: for them the address is only another name of the service. */
function localRules({ id, cluster, local }: PortView): readonly Rule[] {
  const end = local.length > 0 ? verdict(`goto local/${id}`) : verdict('drop');
  if (cluster.length === 0) return [end];
  return [
    verdict(`goto cluster/${id}`, { kind: 'address', side: 'saddr', set: POD_NETWORKS }),
    rule({ kind: 'mark' }, { kind: 'local', side: 'saddr' }),
    verdict(`goto cluster/${id}`, { kind: 'local', side: 'saddr' }),
    end,
  ];
}

/** Returns the verdict for addresses of load balancers, which may be closed to most sources. */
function addFirewall(builder: FragmentBuilder, { service, family, id }: PortView, open: Verdict): Verdict {
  const wanted = service.spec.loadBalancerSourceRanges ?? [];
  if (wanted.length === 0) return open;
  const ranges = rangesOfFamily(wanted, family);
  const allowed = ranges.length === 0 ? [] : [verdict(open, { kind: 'ranges', side: 'saddr', ranges })];
  builder.chains.set(`firewall/${id}`, { rules: [...allowed, verdict('drop')] });
  return `goto firewall/${id}`;
}
