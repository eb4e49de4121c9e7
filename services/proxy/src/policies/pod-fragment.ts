import {
  isPolicyPod,
  isTerminating,
  type Namespace,
  type NetworkPolicy,
  namedPorts,
  POLICY_DIRECTIONS,
  type Pod,
  type PolicyDirection,
  peerSelects,
  policyCovers,
  policyRules,
  policySelects,
} from '@holdfast/api';
import { addressesOf } from '../addresses/ranges.ts';
import { type Fragment, FragmentBuilder } from '../ruleset/fragment.ts';
import { type Family, verdict } from '../ruleset/model.ts';
import { EGRESS_PODS_MAP, INGRESS_PODS_MAP } from '../ruleset/names.ts';
import { isSafeUid, peerSet, podChain, policyChain, portSet } from './policy-names.ts';

export interface PodView {
  readonly pod: Pod;
  readonly namespace: Namespace | undefined;
  /** All policies that may concern the pod, or more. */
  readonly policies: readonly NetworkPolicy[];
  /** The pod runs here, so that its policies are enforced here. */
  readonly isLocal: boolean;
}

/** The part of one pod: its memberships in the sets of policies, and on its own node the chains that allow and drop. */
export function podFragment(view: PodView, family: Family): Fragment | undefined {
  const { pod, isLocal } = view;
  const addresses = addressesOf(
    (pod.status?.podIPs ?? []).map(({ ip }) => ip),
    family,
  );
  if (addresses.length === 0 || !isPolicyPod(pod) || !isSafeUid(pod.metadata.uid)) return undefined;
  const builder = new FragmentBuilder();
  for (const policy of view.policies) {
    if (isSafeUid(policy.metadata.uid)) addMemberships(builder, policy, { view, addresses, uid: policy.metadata.uid });
  }
  if (isLocal) for (const direction of POLICY_DIRECTIONS) addChain(builder, view, { direction, addresses });
  return builder.elements.size === 0 ? undefined : builder;
}

interface Membership {
  readonly view: PodView;
  readonly addresses: readonly string[];
  readonly uid: string;
}

function addMemberships(builder: FragmentBuilder, policy: NetworkPolicy, { view, addresses, uid }: Membership): void {
  const { pod, namespace, isLocal } = view;
  const seen = { metadata: pod.metadata, namespace };
  const isSubject = isLocal && policySelects(policy, pod);
  for (const direction of POLICY_DIRECTIONS) {
    if (!policyCovers(policy, direction)) continue;
    for (const [i, { peers, ports }] of policyRules(policy, direction).entries()) {
      const isPeer = peers.some((peer) => peerSelects(peer, policy.metadata.namespace, seen));
      if (isPeer) for (const address of addresses) builder.element(peerSet(uid, direction, i), address);
      const isDestination =
        direction === 'ingress'
          ? isSubject
          : isPeer || peers.length === 0 || peers.some(({ ipBlock }) => ipBlock !== undefined);
      if (isDestination)
        addNamedPorts(builder, {
          pod,
          addresses,
          ports: ports.map(({ port, protocol }) => ({ port, protocol })),
          set: (k) => portSet(uid, direction, `${i}-${k}`),
        });
    }
  }
}

interface NamedPorts {
  readonly pod: Pod;
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly port: string | number | undefined; readonly protocol: string | undefined }[];
  readonly set: (place: number) => string;
}

/** A named port is a port of the destination, and each pod may give the name to another number. */
function addNamedPorts(builder: FragmentBuilder, { pod, addresses, ports, set }: NamedPorts): void {
  for (const [k, { port, protocol = 'TCP' }] of ports.entries()) {
    if (typeof port !== 'string') continue;
    for (const number of namedPorts(pod, port, protocol)) {
      for (const address of addresses) builder.element(set(k), `${address} . ${protocol.toLowerCase()} . ${number}`);
    }
  }
}

/** A pod that a policy selects gets what its policies allow, and nothing else. */
function addChain(
  builder: FragmentBuilder,
  { pod, policies }: PodView,
  { direction, addresses }: { readonly direction: PolicyDirection; readonly addresses: readonly string[] },
): void {
  const uids = policies
    .filter((policy) => policyCovers(policy, direction) && policySelects(policy, pod))
    .flatMap(({ metadata }) => (isSafeUid(metadata.uid) ? [metadata.uid] : []));
  if (uids.length === 0) return;
  const chain = podChain(pod.metadata.uid ?? '', direction);
  const rules = [...uids.map((uid) => verdict(`jump ${policyChain(uid, direction)}`)), verdict('drop')];
  builder.chains.set(chain, { rules });
  const map = direction === 'ingress' ? INGRESS_PODS_MAP : EGRESS_PODS_MAP;
  // An ending pod may have the address that a new one was given.
  const rank = isTerminating(pod) ? 1 : 0;
  for (const address of addresses) builder.element(map, address, { value: `goto ${chain}`, rank });
}
