import type { Container, OwnerReference, Pod, Toleration, Volume } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { compileRequiredNodes, type NodeTest } from './node-affinity.ts';
import { compilePodAffinity, type PodAffinityTerms } from './pod-affinity.ts';
import { compilePodSpread, type PodSpread } from './pod-spread.ts';
import { type Amounts, podRequests, podRequestsForScoring } from './resources.ts';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A claim that a pod uses, by its own name or by one that is made for the pod. */
export interface ClaimUse {
  /** `namespace/name` */
  readonly key: string;
  readonly name: string;
  /** The claim belongs to this pod alone. */
  readonly ephemeral: boolean;
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
  readonly spread: PodSpread;
  readonly owner: OwnerReference | undefined;
  readonly claims: readonly ClaimUse[];
  /** Volumes that are disks named by the pod itself. */
  readonly disks: readonly Volume[];
  /** Equal texts = no node on its own can tell the pods apart: all that plugins ask of it (`localFilter`, `localScore`). */
  readonly nodeNeeds: string;
}

export function createPodInfo(pod: Pod): PodInfo {
  const { namespace = '', name = '', uid = '', labels = {}, deletionTimestamp, ownerReferences } = pod.metadata;
  const requests = podRequests(pod);
  const requestsForScoring = podRequestsForScoring(pod);
  const hostPorts = hostPortsOf(pod);
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
    requests,
    requestsForScoring,
    hostPorts,
    tolerations: pod.spec.tolerations ?? [],
    requiredNodes: compileRequiredNodes(pod),
    affinity: compilePodAffinity(pod),
    spread: compilePodSpread(pod),
    owner: ownerReferences?.find((owner) => owner.controller === true),
    claims: claimsOf(pod),
    disks: (pod.spec.volumes ?? []).filter(isDisk),
    nodeNeeds: nodeNeedsOf(pod, [...requests], [...requestsForScoring], hostPorts),
  };
}

function nodeNeedsOf({ spec }: Pod, ...parsed: readonly unknown[]): string {
  const { nodeName, nodeSelector, tolerations, affinity } = spec;
  return JSON.stringify([nodeName, nodeSelector, tolerations, affinity?.nodeAffinity, ...parsed]);
}

/** A pod seen again: what was parsed is kept while it still holds, as it does for every report of its status. */
export function refreshPodInfo(known: PodInfo | undefined, pod: Pod): PodInfo {
  if (known === undefined || known.uid !== pod.metadata.uid) return createPodInfo(pod);
  const same = hasSameSpec(known, pod) && deepEqual(known.pod.metadata.labels, pod.metadata.labels);
  if (!same || !deepEqual(known.pod.metadata.ownerReferences, pod.metadata.ownerReferences)) return createPodInfo(pod);
  return { ...known, pod, terminating: pod.metadata.deletionTimestamp !== undefined };
}

/** A pod that was assumed on the node that it was bound to says nothing new either. */
function hasSameSpec({ pod: { spec }, nodeName }: PodInfo, { spec: now }: Pod): boolean {
  const bound = nodeName !== '' && nodeName === now.nodeName && spec.nodeName !== nodeName;
  return deepEqual(bound ? { ...spec, nodeName } : spec, now);
}

/** The same pod on a node: what is assumed between the decision and its confirmation. */
export function placedOn(info: PodInfo, nodeName: string): PodInfo {
  return info.nodeName === nodeName ? info : { ...info, nodeName };
}

/** The containers that run, and those that ran before them. */
export function allContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

function hostPortsOf(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always');
  return [...pod.spec.containers, ...sidecars].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort = 0, hostIP = '', protocol = 'TCP' }) =>
      hostPort > 0 ? [{ port: hostPort, ip: hostIP === '' ? '0.0.0.0' : hostIP, protocol }] : [],
    ),
  );
}

function claimsOf({ metadata: { namespace = '', name: podName = '' }, spec: { volumes = [] } }: Pod): ClaimUse[] {
  return volumes.flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    const name = ephemeral === undefined ? persistentVolumeClaim?.claimName : `${podName}-${volume}`;
    if (name === undefined) return [];
    return [{ key: `${namespace}/${name}`, name, ephemeral: ephemeral !== undefined }];
  });
}

function isDisk({ gcePersistentDisk, awsElasticBlockStore, rbd, iscsi }: Volume): boolean {
  return [gcePersistentDisk, awsElasticBlockStore, rbd, iscsi].some((disk) => disk !== undefined);
}
