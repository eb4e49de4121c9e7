import type { Node } from '@holdfast/api';
import { addressesOf, mergeRanges, rangeOf, rangeTexts, withoutRanges } from '../addresses/ranges.ts';
import { type Fragment, FragmentBuilder } from './fragment.ts';
import { type Family, type Hook, type Match, type Rule, rule, verdict } from './model.ts';
import {
  CLUSTER_ADDRESSES,
  EGRESS_PODS_MAP,
  EXTERNAL_MAP,
  INGRESS_PODS_MAP,
  NODE_ADDRESSES,
  NODE_PORTS_MAP,
  OWN_PAIRS,
  POD_NETWORKS,
  REFUSE_CHAIN,
  RELAYED_ADDRESSES,
  SERVICES_CHAIN,
  SERVICES_MAP,
} from './names.ts';

export interface BaseOptions {
  /** The networks of all pods. Empty: those of this node's `spec.podCIDRs`, and no masquerade for cluster addresses. */
  readonly clusterCidrs: readonly string[];
  /** Every flow to a cluster address gets this node as its source. */
  readonly masqueradeAll: boolean;
  /** Networks whose addresses of this machine answer at node ports; empty: the node's internal addresses. */
  readonly nodePortAddresses: readonly string[];
}

/** Programs of the machine reach this network over it; policies do not bind them, as those of a node. */
export interface MachineLink {
  readonly name: string;
  /** The machine's address on it. Others may come over the link, too, such as pods of other nodes. */
  readonly address: string;
}

export interface BaseView {
  readonly node: Node | undefined;
  /** Cluster addresses at which something else answers. No service takes them over. */
  readonly relayed?: readonly string[];
  /** Absent: the machine has no link to this network. */
  readonly machineLink?: MachineLink | undefined;
}

export const BASE_UNIT = 'base';

const DESTINATION_NAT = -100;
const SOURCE_NAT = 100;
const FILTER = 0;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** What every other unit needs: hooks, shared sets, and what depends on the node alone. */
export function baseFragment(
  family: Family,
  { node, relayed = [], machineLink }: BaseView,
  options: BaseOptions,
): Fragment {
  const builder = new FragmentBuilder();
  const sets = builder.sets;
  sets.set(SERVICES_MAP, { kind: 'verdicts', by: 'destination' });
  sets.set(EXTERNAL_MAP, { kind: 'verdicts', by: 'destination' });
  sets.set(NODE_PORTS_MAP, { kind: 'verdicts', by: 'port' });
  sets.set(INGRESS_PODS_MAP, { kind: 'verdicts', by: 'daddr' });
  sets.set(EGRESS_PODS_MAP, { kind: 'verdicts', by: 'saddr' });
  sets.set(CLUSTER_ADDRESSES, { kind: 'addresses' });
  sets.set(RELAYED_ADDRESSES, { kind: 'addresses' });
  sets.set(POD_NETWORKS, { kind: 'networks' });
  sets.set(NODE_ADDRESSES, { kind: 'networks' });
  sets.set(OWN_PAIRS, { kind: 'pairs' });
  for (const text of podNetworks(family, node, options)) builder.element(POD_NETWORKS, text);
  for (const text of nodeNetworks(family, node, options)) builder.element(NODE_ADDRESSES, text);
  addServiceChains(builder, options);
  addPolicyChains(builder, machineLink && linkMatches(machineLink, family));
  const addresses = addressesOf(relayed, family);
  for (const address of addresses) builder.element(RELAYED_ADDRESSES, address);
  if (addresses.length > 0) addRelayChain(builder);
  return builder;
}

function addServiceChains({ chains }: FragmentBuilder, options: BaseOptions): void {
  const nat = (hook: Hook['hook'], priority: number): Hook => ({ type: 'nat', hook, priority });
  chains.set(REFUSE_CHAIN, { rules: [verdict('reject')] });
  chains.set(SERVICES_CHAIN, { rules: serviceRules(options) });
  const enter = [verdict(`jump ${SERVICES_CHAIN}`)];
  chains.set('nat-prerouting', { hook: nat('prerouting', DESTINATION_NAT), rules: enter });
  chains.set('nat-output', { hook: nat('output', DESTINATION_NAT), rules: enter });
  chains.set('nat-postrouting', {
    hook: nat('postrouting', SOURCE_NAT),
    rules: [
      rule({ kind: 'masquerade' }, { kind: 'marked' }),
      rule({ kind: 'masquerade' }, { kind: 'translated' }, { kind: 'pair', set: OWN_PAIRS }),
    ],
  });
}

const TO_RELAYED = { kind: 'address', side: 'daddr', set: RELAYED_ADDRESSES } as const;

function serviceRules({ clusterCidrs, masqueradeAll }: BaseOptions): readonly Rule[] {
  const toCluster = { kind: 'address', side: 'daddr', set: CLUSTER_ADDRESSES } as const;
  const fromOutside = { kind: 'address', side: 'saddr', set: POD_NETWORKS, not: true } as const;
  const masquerade = masqueradeAll
    ? [rule({ kind: 'mark' }, toCluster)]
    : clusterCidrs.length > 0
      ? [rule({ kind: 'mark' }, toCluster, fromOutside)]
      : [];
  return [
    verdict('return', TO_RELAYED),
    ...masquerade,
    rule({ kind: 'dispatch', by: 'destination', map: SERVICES_MAP }),
    // Nobody else has these addresses, so what no port of a service took would be lost on its way.
    verdict(`goto ${REFUSE_CHAIN}`, toCluster),
    // After every cluster address: a user may name any address here, those of other services included.
    rule({ kind: 'dispatch', by: 'destination', map: EXTERNAL_MAP }),
    rule(
      { kind: 'dispatch', by: 'port', map: NODE_PORTS_MAP },
      { kind: 'address', side: 'daddr', set: NODE_ADDRESSES },
      { kind: 'local', side: 'daddr' },
    ),
  ];
}

const KNOWN = verdict('accept', { kind: 'flow', state: 'known' });

/** Traffic to a relay ends in this namespace, so it is not forwarded. Policies bind the pods that send it. */
function addRelayChain({ chains }: FragmentBuilder): void {
  chains.set('policy-relays', {
    hook: { type: 'filter', hook: 'input', priority: FILTER },
    rules: [KNOWN, rule({ kind: 'dispatch', by: 'saddr', map: EGRESS_PODS_MAP }, TO_RELAYED)],
  });
}

/**
 * Both directions of a flow must be allowed, so each has a base chain of its own: `accept` ends only the chain that
 * gives it. Traffic between a node and its own pods passes neither: it is not forwarded, or is let through where it arrives
 * over a link of its own.
 */
const linkMatches = ({ name, address }: MachineLink, family: Family): readonly Match[] =>
  addressesOf([address], family).map((source) => ({ kind: 'link', name, source }));

function addPolicyChains({ chains }: FragmentBuilder, links: readonly Match[] = []): void {
  const free = [
    KNOWN,
    verdict('accept', { kind: 'pair', set: OWN_PAIRS }),
    ...links.map((link) => verdict('accept', link)),
  ];
  const forward = (priority: number): Hook => ({ type: 'filter', hook: 'forward', priority });
  chains.set('policy-egress', {
    hook: forward(FILTER),
    rules: [...free, rule({ kind: 'dispatch', by: 'saddr', map: EGRESS_PODS_MAP })],
  });
  chains.set('policy-ingress', {
    hook: forward(FILTER + 1),
    rules: [...free, rule({ kind: 'dispatch', by: 'daddr', map: INGRESS_PODS_MAP })],
  });
}

function podNetworks(family: Family, node: Node | undefined, { clusterCidrs }: BaseOptions): readonly string[] {
  const texts = clusterCidrs.length > 0 ? clusterCidrs : (node?.spec?.podCIDRs ?? []);
  return networkTexts(texts, family);
}

function nodeNetworks(family: Family, node: Node | undefined, { nodePortAddresses }: BaseOptions): readonly string[] {
  if (nodePortAddresses.length > 0) return networkTexts(nodePortAddresses, family);
  return (node?.status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => addressesOf([address], family))
    .filter((ip) => !ip.startsWith('127.') && ip !== '::1');
}

function networkTexts(texts: readonly string[], family: Family): readonly string[] {
  const ranges = (each: readonly string[]) =>
    each.map((text) => rangeOf(text, family)).filter((range) => range !== undefined);
  // The kernel does not translate flows between loopback addresses and others.
  return rangeTexts(withoutRanges(mergeRanges(ranges(texts)), ranges(LOOPBACK)), family);
}
