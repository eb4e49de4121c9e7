import {
  type Container,
  compileRequiredNodes,
  isExclusive,
  isTerminating,
  type NodeTest,
  type OwnerReference,
  type Pod,
  sidecarsOf,
  type Toleration,
  type Volume,
} from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { compilePodAffinity, type PodAffinityTerms } from './pod-affinity.ts';
import { compilePodSpread, type PodSpread } from './pod-spread.ts';
import { type Amounts, podRequests, podRequestsForScoring } from './resources.ts';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A claim of a pod: named in its spec, or generated for the pod. */
export interface ClaimUse {
  /** `namespace/name` */
  readonly key: string;
  readonly name: string;
  /** The claim belongs only to this pod. */
  readonly ephemeral: boolean;
}

/** A pod as the scheduler uses it: parsed once on arrival. */
export interface PodInfo {
  readonly pod: Pod;
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  /** '' while unbound. */
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
  /** Inline disk volumes of the pod. */
  readonly disks: readonly Volume[];
  /** With equal texts, local plugins (`localFilter`, `localScore`) cannot distinguish the pods on any node. */
  readonly nodeNeeds: string;
  /** The same without the node of the pod. */
  readonly templateNeeds: string;
}

/** `like`: a pod that was parsed before. Parts that pods of one template share are parsed once. */
export function createPodInfo(pod: Pod, like?: PodInfo): PodInfo {
  const { namespace = '', name = '', uid = '', deletionTimestamp } = pod.metadata;
  const nodeName = pod.spec.nodeName ?? '';
  const template = like !== undefined && asksTheSame(like.pod, pod) ? like : readTemplate(pod);
  const { volumes = NO_VOLUMES } = pod.spec;
  return {
    ...template,
    pod,
    key: `${namespace}/${name}`,
    uid,
    namespace,
    name,
    priority: pod.spec.priority ?? 0,
    nodeName,
    nodeNeeds: nodeName === '' ? template.templateNeeds : `${nodeName} ${template.templateNeeds}`,
    terminating: deletionTimestamp !== undefined,
    owner: ownerOf(pod),
    claims: volumes.length === 0 ? NO_CLAIMS : claimsOf(pod),
    disks: volumes.length === 0 ? NO_VOLUMES : volumes.filter(isDisk),
  };
}

const NO_VOLUMES: readonly Volume[] = [];
const NO_CLAIMS: readonly ClaimUse[] = [];

type Template = Pick<
  PodInfo,
  | 'labels'
  | 'requests'
  | 'requestsForScoring'
  | 'hostPorts'
  | 'tolerations'
  | 'requiredNodes'
  | 'affinity'
  | 'spread'
  | 'templateNeeds'
>;

/** Depends only on the fields that `asksTheSame` compares. */
function readTemplate(pod: Pod): Template {
  const requests = podRequests(pod);
  const requestsForScoring = podRequestsForScoring(pod);
  const hostPorts = hostPortsOf(pod);
  return {
    labels: pod.metadata.labels ?? {},
    requests,
    requestsForScoring,
    hostPorts,
    tolerations: pod.spec.tolerations ?? [],
    requiredNodes: compileRequiredNodes(pod),
    affinity: compilePodAffinity(pod),
    spread: compilePodSpread(pod),
    templateNeeds: templateNeedsOf(pod, [...requests], [...requestsForScoring], hostPorts),
  };
}

function templateNeedsOf(pod: Pod, ...parsed: readonly unknown[]): string {
  const { nodeSelector, tolerations, affinity } = pod.spec;
  return JSON.stringify([nodeSelector, tolerations, affinity?.nodeAffinity, isExclusive(pod), ...parsed]);
}

function asksTheSame(pod: Pod, like: Pod): boolean {
  const { metadata: a, spec } = pod;
  const { metadata: b, spec: other } = like;
  return (
    a.namespace === b.namespace &&
    isExclusive(pod) === isExclusive(like) &&
    deepEqual(a.labels, b.labels) &&
    containersAskTheSame(spec.containers, other.containers) &&
    containersAskTheSame(spec.initContainers, other.initContainers) &&
    deepEqual(spec.tolerations, other.tolerations) &&
    deepEqual(spec.nodeSelector, other.nodeSelector) &&
    deepEqual(spec.affinity, other.affinity) &&
    deepEqual(spec.topologySpreadConstraints, other.topologySpreadConstraints) &&
    deepEqual(spec.overhead, other.overhead)
  );
}

const NO_CONTAINERS: readonly Container[] = [];

function containersAskTheSame(a = NO_CONTAINERS, b = NO_CONTAINERS): boolean {
  if (a === b) return true;
  return (
    a.length === b.length &&
    a.every((one, i) => {
      const other = b[i];
      return (
        one.restartPolicy === other?.restartPolicy &&
        deepEqual(one.resources?.requests, other?.resources?.requests) &&
        deepEqual(one.ports, other?.ports)
      );
    })
  );
}

function ownerOf({ metadata: { ownerReferences } }: Pod): OwnerReference | undefined {
  return ownerReferences?.find((owner) => owner.controller === true);
}

/** Updates a known pod: reuses parsed values that are still valid, as after every status report. */
export function refreshPodInfo(known: PodInfo | undefined, pod: Pod): PodInfo {
  if (known === undefined || known.uid !== pod.metadata.uid) return createPodInfo(pod);
  // A pod that was assumed on the node of its binding is unchanged, too.
  const same = known.nodeName === (pod.spec.nodeName ?? '') && asksTheSame(known.pod, pod);
  if (!same || !deepEqual(known.pod.metadata.ownerReferences, pod.metadata.ownerReferences)) return createPodInfo(pod);
  return { ...known, pod, terminating: isTerminating(pod) };
}

/** The same pod on a node: assumed between the decision and its confirmation. */
export function placedOn(info: PodInfo, nodeName: string): PodInfo {
  return info.nodeName === nodeName ? info : { ...info, nodeName };
}

/** The containers and the init containers. */
export function allContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

function hostPortsOf(pod: Pod): readonly HostPort[] {
  const sidecars = sidecarsOf(pod.spec);
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
