import type { Node, Taint } from '@holdfast/api';
import { invariant } from '@holdfast/platform';
import type { HostPort, PodInfo } from './pod-info.ts';
import { type Amounts, addTo, parseAmounts } from './resources.ts';

/** A node with what is placed on it. Decisions only read it; the cache alone changes it, between decisions. */
export interface NodeInfo {
  readonly node: Node;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly allocatable: Amounts;
  readonly podsAllowed: number;
  readonly pods: ReadonlyMap<string, PodInfo>;
  readonly requested: Amounts;
  readonly requestedForScoring: Amounts;
  /** Placed pods that have any affinity or anti-affinity of their own. */
  readonly podsWithAffinity: ReadonlyMap<string, PodInfo>;
  readonly hostPorts: readonly HostPort[];
  /** A copy to try things on. */
  without(pods: readonly PodInfo[]): MutableNodeInfo;
}

export class MutableNodeInfo implements NodeInfo {
  node: Node;
  name = '';
  labels: Readonly<Record<string, string>> = {};
  taints: readonly Taint[] = [];
  allocatable: Amounts = new Map();
  podsAllowed = 0;
  readonly pods = new Map<string, PodInfo>();
  readonly requested = new Map<string, number>();
  readonly requestedForScoring = new Map<string, number>();
  readonly podsWithAffinity = new Map<string, PodInfo>();
  hostPorts: readonly HostPort[] = [];

  constructor(node: Node) {
    this.node = node;
    this.setNode(node);
  }

  setNode(node: Node): void {
    this.node = node;
    this.name = node.metadata.name ?? '';
    this.labels = node.metadata.labels ?? {};
    this.taints = node.spec.taints ?? [];
    this.allocatable = parseAmounts(node.status.allocatable);
    this.podsAllowed = this.allocatable.get('pods') ?? 0;
  }

  add(pod: PodInfo): void {
    invariant(!this.pods.has(pod.uid), 'a pod is placed on a node once', { pod: pod.key, node: this.name });
    this.pods.set(pod.uid, pod);
    addTo(this.requested, pod.requests);
    addTo(this.requestedForScoring, pod.requestsForScoring);
    if (hasAffinity(pod)) this.podsWithAffinity.set(pod.uid, pod);
    if (pod.hostPorts.length > 0) this.hostPorts = [...this.hostPorts, ...pod.hostPorts];
  }

  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    addTo(this.requested, pod.requests, -1);
    addTo(this.requestedForScoring, pod.requestsForScoring, -1);
    this.podsWithAffinity.delete(uid);
    if (pod.hostPorts.length > 0) this.hostPorts = [...this.pods.values()].flatMap((placed) => placed.hostPorts);
  }

  without(pods: readonly PodInfo[]): MutableNodeInfo {
    const gone = new Set(pods.map((pod) => pod.uid));
    const copy = new MutableNodeInfo(this.node);
    for (const pod of this.pods.values()) if (!gone.has(pod.uid)) copy.add(pod);
    return copy;
  }
}

function hasAffinity({ affinity }: PodInfo): boolean {
  const { required, requiredAnti, preferred, preferredAnti } = affinity;
  return required.length + requiredAnti.length + preferred.length + preferredAnti.length > 0;
}
