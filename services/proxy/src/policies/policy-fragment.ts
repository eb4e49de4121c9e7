import {
  type NetworkPolicy,
  type NetworkPolicyPort,
  type NetworkPolicyRule,
  POLICY_DIRECTIONS,
  type PolicyDirection,
  policyCovers,
  policyRules,
} from '@holdfast/api';
import { mergeRanges, rangeOf, rangeTexts, withoutRanges } from '../addresses/ranges.ts';
import { type Fragment, FragmentBuilder } from '../ruleset/fragment.ts';
import { type Family, type Match, PROTOCOLS, type Protocol, type Rule, verdict } from '../ruleset/model.ts';
import { isSafeUid, peerSet, policyChain, portSet } from './policy-names.ts';

/** The chains of a policy, and the sets that pods fill. It depends on the policy alone. */
export function policyFragment(policy: NetworkPolicy, family: Family): Fragment | undefined {
  const { uid } = policy.metadata;
  if (!isSafeUid(uid)) return undefined;
  const builder = new FragmentBuilder();
  for (const direction of POLICY_DIRECTIONS) {
    if (!policyCovers(policy, direction)) continue;
    const rules = policyRules(policy, direction).flatMap((rule, i) =>
      allowRules(builder, rule, { uid, direction, i, family }),
    );
    builder.chains.set(policyChain(uid, direction), { rules });
  }
  return builder;
}

interface Place {
  readonly uid: string;
  readonly direction: PolicyDirection;
  readonly i: number;
  readonly family: Family;
}

/** What any peer may reach at any port is allowed. */
function allowRules(builder: FragmentBuilder, rule: NetworkPolicyRule, place: Place): readonly Rule[] {
  const ports = portMatches(builder, rule, place);
  return peerMatches(builder, rule, place).flatMap((peer) => ports.map((port) => verdict('accept', ...peer, ...port)));
}

/** Alternatives, each a list of conditions. */
type Alternatives = readonly (readonly Match[])[];

function peerMatches(
  builder: FragmentBuilder,
  { peers }: NetworkPolicyRule,
  { uid, direction, i, family }: Place,
): Alternatives {
  if (peers.length === 0) return [[]];
  const side = direction === 'ingress' ? 'saddr' : 'daddr';
  const alternatives: Match[][] = [];
  if (peers.some(({ ipBlock }) => ipBlock === undefined)) {
    const set = peerSet(uid, direction, i);
    builder.sets.set(set, { kind: 'addresses' });
    alternatives.push([{ kind: 'address', side, set }]);
  }
  const blocks = peers.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock]));
  const ranges = blocks.flatMap(({ cidr, except = [] }) =>
    withoutRanges(rangesOf([cidr], family), rangesOf(except, family)),
  );
  if (ranges.length > 0) alternatives.push([{ kind: 'ranges', side, ranges: rangeTexts(mergeRanges(ranges), family) }]);
  return alternatives;
}

const rangesOf = (texts: readonly string[], family: Family) =>
  texts.map((text) => rangeOf(text, family)).filter((range) => range !== undefined);

function portMatches(
  builder: FragmentBuilder,
  { ports }: NetworkPolicyRule,
  { uid, direction, i }: Place,
): Alternatives {
  if (ports.length === 0) return [[]];
  const alternatives: Match[][] = [];
  for (const protocol of PROTOCOLS) {
    const own = ports.filter((port) => (port.protocol ?? 'TCP') === protocol);
    const numbers = numberedPorts(own, protocol);
    if (numbers !== undefined) alternatives.push([numbers]);
  }
  for (const place of ports.flatMap((port, k) => (typeof port.port === 'string' ? [`${i}-${k}`] : []))) {
    const set = portSet(uid, direction, place);
    builder.sets.set(set, { kind: 'destinations' });
    alternatives.push([{ kind: 'destination', set }]);
  }
  return alternatives;
}

function numberedPorts(ports: readonly NetworkPolicyPort[], protocol: Protocol): Match | undefined {
  if (ports.some(({ port }) => port === undefined)) return { kind: 'ports', protocol, ports: [] };
  const ranges = ports.flatMap(({ port, endPort = port }) =>
    typeof port === 'number' && typeof endPort === 'number' ? [[BigInt(port), BigInt(endPort)] as const] : [],
  );
  if (ranges.length === 0) return undefined;
  const texts = mergeRanges(ranges).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return { kind: 'ports', protocol, ports: texts };
}
