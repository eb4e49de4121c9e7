import { type Node, releasePolicy, type SelfFencingPolicy, type Taint } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import { imageNames } from './image-index.ts';
import type { HostPort, PodInfo } from './pod-info.ts';
import { type Amounts, addTo, parseAmounts } from './resources.ts';

/** A node with its placed pods. Decisions only read it; only the cache changes it, between decisions. */
export interface NodeInfo {
  readonly node: Node;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** The pods that the node releases immediately, because its promise has taken effect. */
  readonly releases: SelfFencingPolicy | undefined;
  readonly allocatable: Amounts;
  readonly podsAllowed: number;
  readonly pods: ReadonlyMap<string, PodInfo>;
  readonly requested: Amounts;
  readonly requestedForScoring: Amounts;
  /** Placed pods with claims or inline disks. */
  readonly podsWithVolumes: ReadonlyMap<string, PodInfo>;
  readonly hostPorts: readonly HostPort[];
  /** Names of the images on this node. */
  readonly images: ReadonlySet<string>;
  /** A small number, unique among the nodes of the cluster; negative for copies. */
  readonly slot: number;
  /** A new number after each change that a decision can see; unique in the cluster. */
  readonly changes: number;
  /** A new number after each status report of a pod that changed nothing else. */
  readonly reports: number;
  /** Returns a copy for trials. */
  copy(): MutableNodeInfo;
}

const NO_SLOT = -1;

export class MutableNodeInfo implements NodeInfo {
  node: Node;
  name = '';
  labels: Readonly<Record<string, string>> = {};
  taints: readonly Taint[] = [];
  releases: SelfFencingPolicy | undefined;
  allocatable: Amounts = new Map();
  podsAllowed = 0;
  readonly pods = new Map<string, PodInfo>();
  readonly requested = new Map<string, number>();
  readonly requestedForScoring = new Map<string, number>();
  readonly podsWithVolumes = new Map<string, PodInfo>();
  hostPorts: readonly HostPort[] = [];
  readonly slot: number;
  changes = 0;
  reports = 0;
  #images: ReadonlySet<string> | undefined;

  get images(): ReadonlySet<string> {
    this.#images ??= imageNames(this.node);
    return this.#images;
  }

  /** `parsed`: another state of the same node whose parsed values can be reused. */
  constructor(node: Node, slot = NO_SLOT, parsed?: Pick<NodeInfo, 'allocatable' | 'podsAllowed'>) {
    this.node = node;
    this.slot = slot;
    this.allocatable = parsed?.allocatable ?? this.allocatable;
    this.podsAllowed = parsed?.podsAllowed ?? 0;
    this.setNode(node);
  }

  setNode(node: Node): void {
    const known = this.node.status.allocatable;
    const sameAllocatable =
      this.allocatable.size > 0 && (known === node.status.allocatable || deepEqual(known, node.status.allocatable));
    this.node = node;
    this.#images = undefined;
    this.name = node.metadata.name ?? '';
    this.labels = node.metadata.labels ?? {};
    this.taints = node.spec.taints ?? [];
    this.releases = releasePolicy(node);
    if (sameAllocatable) return;
    this.allocatable = parseAmounts(node.status.allocatable);
    this.podsAllowed = this.allocatable.get('pods') ?? 0;
  }

  add(pod: PodInfo): void {
    invariant(!this.pods.has(pod.uid), 'a pod is placed on a node once', { pod: pod.key, node: this.name });
    this.pods.set(pod.uid, pod);
    addTo(this.requested, pod.requests);
    addTo(this.requestedForScoring, pod.requestsForScoring);
    if (pod.claims.length + pod.disks.length > 0) this.podsWithVolumes.set(pod.uid, pod);
    if (pod.hostPorts.length > 0) this.hostPorts = [...this.hostPorts, ...pod.hostPorts];
  }

  /** Replaces a pod by the same pod with another status. */
  replace(pod: PodInfo): void {
    this.reports++;
    this.pods.set(pod.uid, pod);
    if (this.podsWithVolumes.has(pod.uid)) this.podsWithVolumes.set(pod.uid, pod);
  }

  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    addTo(this.requested, pod.requests, -1);
    addTo(this.requestedForScoring, pod.requestsForScoring, -1);
    this.podsWithVolumes.delete(uid);
    if (pod.hostPorts.length > 0) this.hostPorts = [...this.pods.values()].flatMap((placed) => placed.hostPorts);
  }

  copy(): MutableNodeInfo {
    const copy = new MutableNodeInfo(this.node, NO_SLOT, this);
    for (const [uid, pod] of this.pods) copy.pods.set(uid, pod);
    for (const [uid, pod] of this.podsWithVolumes) copy.podsWithVolumes.set(uid, pod);
    for (const [name, amount] of this.requested) copy.requested.set(name, amount);
    for (const [name, amount] of this.requestedForScoring) copy.requestedForScoring.set(name, amount);
    copy.hostPorts = this.hostPorts;
    return copy;
  }
}
