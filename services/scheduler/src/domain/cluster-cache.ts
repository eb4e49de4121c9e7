import { failureZoneOf, type Namespace, type Node, releasePolicy } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import type { EventKind, Snapshot } from '../framework/plugin.ts';
import type { Profile } from '../framework/profile.ts';
import { ImageIndex } from './image-index.ts';
import { MatchCounts } from './match-counts.ts';
import { MutableNodeInfo, type NodeInfo } from './node-info.ts';
import { inTurnByZone } from './node-order.ts';
import { type NodeResults, SharedResults } from './node-results.ts';
import { Nominations } from './nominations.ts';
import { OwnerSelectorIndex } from './owner-selectors.ts';
import type { NamespaceLabels } from './pod-affinity.ts';
import { type PodInfo, placedOn } from './pod-info.ts';
import { TermIndex } from './term-index.ts';
import { VolumeStore } from './volumes.ts';

interface Assumption {
  readonly pod: PodInfo;
  /** Set when the binding was answered; its confirmation has not arrived yet. */
  boundAtMs: number | undefined;
}

/**
 * The input of decisions: nodes, placed pods, and assumed pods until their binding is confirmed. It changes only
 * between decisions. Each change costs what it touches, not the size of the cluster.
 */
export class ClusterCache implements Snapshot {
  readonly volumes = new VolumeStore();
  readonly owners = new OwnerSelectorIndex();
  readonly nominations = new Nominations();
  readonly #nodes = new Map<string, MutableNodeInfo>();
  #nodeList: readonly MutableNodeInfo[] | undefined;
  readonly #freeSlots: number[] = [];
  /** Nodes with a PreferNoSchedule taint. */
  #softlyTainted = 0;
  #changes = 0;
  /** By uid, even for an unknown node: a pod may be observed before its node. */
  readonly #placed = new Map<string, PodInfo>();
  /** By unknown node and uid; a known node has its pods itself. */
  readonly #onUnknownNodes = new Map<string, Map<string, PodInfo>>();
  readonly #usersOfClaim = new Map<string, Map<string, PodInfo>>();
  readonly #assumed = new Map<string, Assumption>();
  readonly #namespaces = new Map<string, Readonly<Record<string, string>>>();
  readonly #counts = new MatchCounts({
    placed: () => this.#placed.values(),
    nodes: () => this.nodes,
    nodeOf: (name) => this.#nodes.get(name),
  });
  readonly #terms = new TermIndex((name) => this.#nodes.get(name));
  readonly #images = new ImageIndex();
  readonly #shared = new SharedResults();

  get nodes(): readonly NodeInfo[] {
    this.#nodeList ??= inTurnByZone(this.#nodes.values());
    return this.#nodeList;
  }

  get version(): number {
    return this.#changes;
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  countsOf(group: Parameters<Snapshot['countsOf']>[0]): ReturnType<Snapshot['countsOf']> {
    return this.#counts.of(group);
  }

  domainsOf(...question: Parameters<Snapshot['domainsOf']>): ReturnType<Snapshot['domainsOf']> {
    return this.#counts.domainsOf(...question);
  }

  sharedBy(profile: Profile, pod: PodInfo): NodeResults {
    return this.#shared.of(profile, pod, this.#nodes.size);
  }

  /** The amount of work of all decisions; for tests and measurements. */
  work(): Readonly<Record<'checks' | 'scores' | 'trials' | 'recounts', number>> {
    return { ...this.#shared.counts, recounts: this.#counts.recounts };
  }

  placedTerms(...question: Parameters<Snapshot['placedTerms']>): ReturnType<Snapshot['placedTerms']> {
    return this.#terms.about(...question);
  }

  readonly namespaceLabels: NamespaceLabels = (namespace) => this.#namespaces.get(namespace);

  get anyNominated(): boolean {
    return this.nominations.any;
  }

  get anySoftTaint(): boolean {
    return this.#softlyTainted > 0;
  }

  nominatedOn(name: string): readonly PodInfo[] {
    return this.nominations.on(name);
  }

  nominationOf(pod: PodInfo): string {
    return this.nominations.of(pod);
  }

  nodesWithImage(image: string): number {
    return this.#images.nodesWith(image);
  }

  imageSize(image: string): number {
    return this.#images.sizeOf(image);
  }

  usersOfClaim(claim: string): readonly PodInfo[] {
    return [...(this.#usersOfClaim.get(claim)?.values() ?? [])];
  }

  /** Returns what changed for decisions: a heartbeat changes nothing. */
  setNode(node: Node): readonly NodeEvent[] {
    const name = node.metadata.name ?? '';
    const known = this.#nodes.get(name);
    this.#images.replace(known?.node, node);
    this.#softlyTainted += Number(isSoftlyTainted(node)) - Number(isSoftlyTainted(known?.node));
    if (known !== undefined) {
      const changes = changesOf(known.node, node);
      const isMoved = changes.includes('node-labels') && failureZoneOf(known.node) !== failureZoneOf(node);
      if (isMoved) this.#nodeList = undefined;
      known.setNode(node);
      if (changes.length > 0) this.#touch(known);
      if (changes.some((change) => change !== 'node-allocatable' && change !== 'node-condition')) this.#domainsMoved();
      return changes;
    }
    const info = new MutableNodeInfo(node, this.#freeSlots.pop() ?? this.#nodes.size);
    for (const pod of this.#onUnknownNodes.get(name)?.values() ?? []) info.add(pod);
    this.#onUnknownNodes.delete(name);
    this.#touch(info);
    this.#nodes.set(name, info);
    this.#nodeList = undefined;
    this.#domainsMoved();
    return ['node-added'];
  }

  /** Returns the removed node. */
  removeNode(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name);
    if (info === undefined) return undefined;
    this.#images.replace(info.node, undefined);
    this.#softlyTainted -= Number(isSoftlyTainted(info.node));
    this.#nodes.delete(name);
    if (info.pods.size > 0) this.#onUnknownNodes.set(name, new Map(info.pods));
    this.#freeSlots.push(info.slot);
    this.#changes++;
    this.#nodeList = undefined;
    this.#domainsMoved();
    return info;
  }

  /** Returns false when nothing changed for decisions. */
  setNamespace(namespace: Namespace): boolean {
    const name = namespace.metadata.name ?? '';
    const labels = namespace.metadata.labels ?? {};
    if (deepEqual(this.#namespaces.get(name), labels)) return false;
    this.#namespaces.set(name, labels);
    this.#counts.reset();
    return true;
  }

  removeNamespace(name: string): void {
    if (this.#namespaces.delete(name)) this.#counts.reset();
  }

  /** Takes a bound pod from the API: confirms or corrects an assumption. */
  setPod(pod: PodInfo): readonly PodEvent[] {
    invariant(pod.nodeName !== '', 'only bound pods are placed', { pod: pod.key });
    this.#assumed.delete(pod.uid);
    const known = this.#placed.get(pod.uid);
    if (known !== undefined && weighsTheSame(known, pod)) {
      this.#replace(pod);
      return [];
    }
    if (known !== undefined) this.#take(known);
    this.#put(pod);
    return known === undefined ? ['pod-placed'] : podChanges(known, pod);
  }

  /** Returns the removed pod. */
  removePod(uid: string): PodInfo | undefined {
    this.#assumed.delete(uid);
    const known = this.#placed.get(uid);
    if (known !== undefined) this.#take(known);
    return known;
  }

  /** From now on the pod uses the node as if it ran there. */
  assume(pod: PodInfo, nodeName: string): void {
    invariant(nodeName !== '', 'an assumed pod has a node', { pod: pod.key });
    invariant(!this.#placed.has(pod.uid), 'a placed pod is not placed again', { pod: pod.key, nodeName });
    const placed = placedOn(pod, nodeName);
    this.#assumed.set(pod.uid, { pod: placed, boundAtMs: undefined });
    this.#put(placed);
  }

  bindingAnswered(uid: string, nowMs: number): void {
    const assumption = this.#assumed.get(uid);
    if (assumption !== undefined) assumption.boundAtMs = nowMs;
  }

  /** The binding failed. Does nothing once the API has shown the pod as bound. */
  forget(uid: string): PodInfo | undefined {
    const assumption = this.#assumed.get(uid);
    if (assumption === undefined) return undefined;
    this.#assumed.delete(uid);
    this.#take(assumption.pod);
    return assumption.pod;
  }

  placed(uid: string): PodInfo | undefined {
    return this.#placed.get(uid);
  }

  isPlaced(uid: string): boolean {
    return this.#placed.has(uid);
  }

  placedPods(): Iterable<PodInfo> {
    return this.#placed.values();
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid);
  }

  assumptions(): number {
    return this.#assumed.size;
  }

  sizes(): { readonly nodes: number; readonly pods: number; readonly assumed_pods: number } {
    return { nodes: this.#nodes.size, pods: this.#placed.size, assumed_pods: this.#assumed.size };
  }

  /** Returns assumed pods whose binding was answered before `beforeMs` and not observed since. */
  unconfirmed(beforeMs: number): readonly PodInfo[] {
    return [...this.#assumed.values()]
      .filter(({ boundAtMs }) => boundAtMs !== undefined && boundAtMs <= beforeMs)
      .map(({ pod }) => pod);
  }

  #put(pod: PodInfo): void {
    this.#placed.set(pod.uid, pod);
    for (const { key } of pod.claims) putInto(this.#usersOfClaim, key, pod);
    this.#counts.added(pod);
    this.#terms.added(pod);
    const node = this.#nodes.get(pod.nodeName);
    if (node === undefined) putInto(this.#onUnknownNodes, pod.nodeName, pod);
    else {
      node.add(pod);
      this.#touch(node);
    }
  }

  #touch(node: MutableNodeInfo): void {
    node.changes = ++this.#changes;
  }

  /** Nodes may have changed their domains. */
  #domainsMoved(): void {
    this.#counts.domainsMoved();
    this.#terms.domainsMoved();
  }

  #replace(pod: PodInfo): void {
    this.#placed.set(pod.uid, pod);
    for (const { key } of pod.claims) this.#usersOfClaim.get(key)?.set(pod.uid, pod);
    const node = this.#nodes.get(pod.nodeName);
    if (node === undefined) putInto(this.#onUnknownNodes, pod.nodeName, pod);
    else node.replace(pod);
  }

  #take(pod: PodInfo): void {
    this.#placed.delete(pod.uid);
    for (const { key } of pod.claims) takeFrom(this.#usersOfClaim, key, pod);
    this.#counts.removed(pod);
    this.#terms.removed(pod);
    const node = this.#nodes.get(pod.nodeName);
    if (node === undefined) takeFrom(this.#onUnknownNodes, pod.nodeName, pod);
    else {
      node.remove(pod.uid);
      this.#touch(node);
    }
  }
}

type NodeEvent = Extract<EventKind, `node-${string}`>;
type PodEvent = Extract<EventKind, `pod-${string}`>;

function putInto(pods: Map<string, Map<string, PodInfo>>, key: string, pod: PodInfo): void {
  const group = pods.get(key) ?? new Map<string, PodInfo>();
  pods.set(key, group);
  group.set(pod.uid, pod);
}

function takeFrom(pods: Map<string, Map<string, PodInfo>>, key: string, pod: PodInfo): void {
  const group = pods.get(key);
  group?.delete(pod.uid);
  if (group?.size === 0) pods.delete(key);
}

/** True when nothing was parsed again (see `refreshPodInfo`), so no count or sum can differ. */
function weighsTheSame(a: PodInfo, b: PodInfo): boolean {
  return a.requests === b.requests && a.terminating === b.terminating && a.nodeName === b.nodeName;
}

function isSoftlyTainted(node: Node | undefined): boolean {
  return node?.spec.taints?.some(({ effect }) => effect === 'PreferNoSchedule') === true;
}

function changesOf(a: Node, b: Node): readonly NodeEvent[] {
  const changes: NodeEvent[] = [];
  if (!deepEqual(a.metadata.labels, b.metadata.labels)) changes.push('node-labels');
  if (!deepEqual(a.spec, b.spec)) changes.push('node-taints');
  if (!deepEqual(a.status.allocatable, b.status.allocatable)) changes.push('node-allocatable');
  if (releasePolicy(a) !== releasePolicy(b)) changes.push('node-condition');
  return changes;
}

function podChanges(a: PodInfo, b: PodInfo): readonly PodEvent[] {
  const changes: PodEvent[] = [];
  if (a.terminating !== b.terminating || !deepEqual(a.labels, b.labels)) changes.push('pod-labels');
  if ([...a.requests].some(([name, amount]) => (b.requests.get(name) ?? 0) < amount)) changes.push('pod-smaller');
  return changes;
}
