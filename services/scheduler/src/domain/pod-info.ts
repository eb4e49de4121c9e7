import type { Pod, Toleration } from '@holdfast/api';
import { compileRequiredNodes, type NodeTest } from './node-affinity.ts';
import { compilePodAffinity, type PodAffinityTerms } from './pod-affinity.ts';
import { type Amounts, podRequests, podRequestsForScoring } from './resources.ts';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A pod as scheduling sees it: everything that has to be parsed is parsed once, when the pod arrives. */
export interface PodInfo {
  readonly pod: Pod;
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  /** '' when unbound. */
  readonly nodeName: string;
  readonly terminating: boolean;
  readonly requests: Amounts;
  readonly requestsForScoring: Amounts;
  readonly hostPorts: readonly HostPort[];
  readonly tolerations: readonly Toleration[];
  readonly requiredNodes: NodeTest | undefined;
  readonly affinity: PodAffinityTerms;
  /** uid of the controlling owner, '' without one. */
  readonly ownerUid: string;
}

export function createPodInfo(pod: Pod): PodInfo {
  const { namespace = '', name = '', uid = '', labels = {}, deletionTimestamp, ownerReferences } = pod.metadata;
  return {
    pod,
    key: `${namespace}/${name}`,
    uid,
    namespace,
    name,
    labels,
    priority: pod.spec.priority ?? 0,
    nodeName: pod.spec.nodeName ?? '',
    terminating: deletionTimestamp !== undefined,
    requests: podRequests(pod),
    requestsForScoring: podRequestsForScoring(pod),
    hostPorts: hostPortsOf(pod),
    tolerations: pod.spec.tolerations ?? [],
    requiredNodes: compileRequiredNodes(pod),
    affinity: compilePodAffinity(pod),
    ownerUid: ownerReferences?.find((owner) => owner.controller === true)?.uid ?? '',
  };
}

/** The same pod on a node: what is assumed between the decision and its confirmation. */
export function placedOn(info: PodInfo, nodeName: string): PodInfo {
  return { ...info, nodeName };
}

function hostPortsOf(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always');
  return [...pod.spec.containers, ...sidecars].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort = 0, hostIP = '', protocol = 'TCP' }) =>
      hostPort > 0 ? [{ port: hostPort, ip: hostIP === '' ? '0.0.0.0' : hostIP, protocol }] : [],
    ),
  );
}
