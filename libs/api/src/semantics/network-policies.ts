import type { Namespace, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, Pod } from '../generated/types.ts';
import { isPodFinished, sidecarsOf } from './pods.ts';
import { selectorOf } from './selectors.ts';

export const POLICY_DIRECTIONS = ['ingress', 'egress'] as const;
export type PolicyDirection = (typeof POLICY_DIRECTIONS)[number];

/** One rule of either direction. Without peers, or without ports, it allows all of them. */
export interface NetworkPolicyRule {
  readonly peers: readonly NetworkPolicyPeer[];
  readonly ports: readonly NetworkPolicyPort[];
}

/** Defaults are filled in, so the types are never absent. */
export const policyCovers = ({ spec }: Pick<NetworkPolicy, 'spec'>, direction: PolicyDirection): boolean =>
  (spec.policyTypes ?? []).includes(direction === 'ingress' ? 'Ingress' : 'Egress');

export function policyRules(
  { spec }: Pick<NetworkPolicy, 'spec'>,
  direction: PolicyDirection,
): readonly NetworkPolicyRule[] {
  if (direction === 'ingress') {
    return (spec.ingress ?? []).map(({ from = [], ports = [] }) => ({ peers: from, ports }));
  }
  return (spec.egress ?? []).map(({ to = [], ports = [] }) => ({ peers: to, ports }));
}

/** True when policies can see the pod: it has addresses of its own, and nobody else can have them yet. */
export const isPolicyPod = (pod: Pick<Pod, 'spec' | 'status'>): boolean =>
  pod.spec.hostNetwork !== true && !isPodFinished(pod) && (pod.status?.podIPs ?? []).length > 0;

export const policySelects = (
  { metadata, spec }: Pick<NetworkPolicy, 'metadata' | 'spec'>,
  pod: Pick<Pod, 'metadata'>,
): boolean =>
  metadata.namespace === pod.metadata.namespace && selectorOf(spec.podSelector ?? {}).matches(pod.metadata.labels);

/** True when a peer of a policy means the pod. Without a namespace selector only pods of the policy's namespace are meant. */
export function peerSelects(
  { ipBlock, namespaceSelector, podSelector }: NetworkPolicyPeer,
  policyNamespace: string | undefined,
  pod: { readonly metadata: Pod['metadata']; readonly namespace: Namespace | undefined },
): boolean {
  if (ipBlock !== undefined) return false;
  if (podSelector !== undefined && !selectorOf(podSelector).matches(pod.metadata.labels)) return false;
  if (namespaceSelector === undefined) return pod.metadata.namespace === policyNamespace;
  return pod.namespace !== undefined && selectorOf(namespaceSelector).matches(pod.namespace.metadata.labels);
}

/** The numbers of the container ports with a name. Containers may give one name to ports of several protocols. */
export const namedPorts = ({ spec }: Pick<Pod, 'spec'>, name: string, protocol: string): readonly number[] =>
  [...sidecarsOf(spec), ...spec.containers].flatMap(({ ports = [] }) =>
    ports
      .filter((port) => port.name === name && (port.protocol ?? 'TCP') === protocol)
      .map(({ containerPort }) => containerPort),
  );
