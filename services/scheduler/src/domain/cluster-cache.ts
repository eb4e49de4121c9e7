import type { Namespace, Node, Pod } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import type { ClusterEvent, Snapshot } from '../framework/plugin.ts';
import { MatchCounts } from './match-counts.ts';
import { MutableNodeInfo, type NodeInfo } from './node-info.ts';
import type { NamespaceLabels } from './pod-affinity.ts';
import { type PodInfo, placedOn } from './pod-info.ts';

interface Assumption {
  readonly pod: PodInfo;
  /** Set when the binding was answered; the confirmation is on its way since then. */
  boundAtMs: number | undefined;
}

/**
 * What decisions see: nodes, placed pods, and pods assumed to be placed until their binding is confirmed. Changed only between
 * decisions, each change costs what it touches and not what the cluster holds.
 */
export class ClusterCache implements Snapshot {
  readonly #nodes = new Map<string, MutableNodeInfo>();
  #nodeList: readonly MutableNodeInfo[] | undefined;
  /** By uid, whether or not the node is known: pods may be seen before their node. */
  readonly #placed = new Map<string, PodInfo>();
  readonly #placedByNode = new Map<string, Map<string, PodInfo>>();
  readonly #assumed = new Map<string, Assumption>();
  readonly #nominationOf = new Map<string, string>();
  readonly #nominated = new Map<string, Map<string, PodInfo>>();
  readonly #namespaces = new Map<string, Readonly<Record<string, string>>>();
  readonly #counts = new MatchCounts(() => this.#placed.values());
  readonly #withAffinity = new Set<MutableNodeInfo>();

  get nodes(): readonly NodeInfo[] {
    this.#nodeList ??= [...this.#nodes.values()];
    return this.#nodeList;
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  get nodesWithAffinityPods(): readonly NodeInfo[] {
    return [...this.#withAffinity];
  }

  countsOf(group: Parameters<Snapshot['countsOf']>[0]): ReturnType<Snapshot['countsOf']> {
    return this.#counts.of(group);
  }

  readonly namespaceLabels: NamespaceLabels = (namespace) => this.#namespaces.get(namespace);

  nominatedOn(name: string): readonly PodInfo[] {
    return [...(this.#nominated.get(name)?.values() ?? [])];
  }

  nominationOf(pod: PodInfo): string {
    return this.#nominationOf.get(pod.uid) ?? pod.pod.status.nominatedNodeName ?? '';
  }

  /** Remembers on which node room is being made for a waiting pod. */
  nominate(pod: PodInfo, nodeName: string): void {
    this.unnominate(pod.uid);
    const pods = this.#nominated.get(nodeName) ?? new Map<string, PodInfo>();
    this.#nominated.set(nodeName, pods);
    pods.set(pod.uid, pod);
    this.#nominationOf.set(pod.uid, nodeName);
  }

  unnominate(uid: string): void {
    const nodeName = this.#nominationOf.get(uid);
    if (nodeName === undefined) return;
    this.#nominationOf.delete(uid);
    const pods = this.#nominated.get(nodeName);
    pods?.delete(uid);
    if (pods?.size === 0) this.#nominated.delete(nodeName);
  }

  /** `undefined` when nothing changed that a decision looks at: a heartbeat wakes nobody. */
  setNode(node: Node): ClusterEvent | undefined {
    const name = node.metadata.name ?? '';
    const known = this.#nodes.get(name);
    if (known !== undefined) {
      const same = decidesAlike(known.node, node);
      known.setNode(node);
      return same ? undefined : 'node-changed';
    }
    const info = new MutableNodeInfo(node);
    for (const pod of this.#placedByNode.get(name)?.values() ?? []) info.add(pod);
    this.#nodes.set(name, info);
    this.#nodeList = undefined;
    this.#noteAffinity(info);
    return 'node-added';
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info === undefined) return;
    this.#nodes.delete(name);
    this.#withAffinity.delete(info);
    this.#nodeList = undefined;
  }

  setNamespace(namespace: Namespace): void {
    this.#namespaces.set(namespace.metadata.name ?? '', namespace.metadata.labels ?? {});
    this.#counts.reset();
  }

  removeNamespace(name: string): void {
    this.#namespaces.delete(name);
    this.#counts.reset();
  }

  /** A bound pod as the API shows it: confirms an assumption, or corrects it. */
  setPod(pod: PodInfo): ClusterEvent | undefined {
    invariant(pod.nodeName !== '', 'only bound pods are placed', { pod: pod.key });
    this.#assumed.delete(pod.uid);
    const known = this.#placed.get(pod.uid);
    if (known !== undefined) this.#take(known);
    this.#put(pod);
    if (known === undefined) return 'pod-placed';
    return countsAlike(known, pod) ? undefined : 'pod-changed';
  }

  removePod(uid: string): boolean {
    this.#assumed.delete(uid);
    const known = this.#placed.get(uid);
    if (known !== undefined) this.#take(known);
    return known !== undefined;
  }

  /** From now on the pod takes its place on the node as if it ran there. */
  assume(pod: PodInfo, nodeName: string): void {
    invariant(!this.#placed.has(pod.uid), 'a placed pod is not placed again', { pod: pod.key, nodeName });
    const placed = placedOn(pod, nodeName);
    this.#assumed.set(pod.uid, { pod: placed, boundAtMs: undefined });
    this.#put(placed);
  }

  bindingAnswered(uid: string, nowMs: number): void {
    const assumption = this.#assumed.get(uid);
    if (assumption !== undefined) assumption.boundAtMs = nowMs;
  }

  /** The binding did not happen. Does nothing once the API showed the pod bound. */
  forget(uid: string): boolean {
    const assumption = this.#assumed.get(uid);
    if (assumption === undefined) return false;
    this.#assumed.delete(uid);
    this.#take(assumption.pod);
    return true;
  }

  isPlaced(uid: string): boolean {
    return this.#placed.has(uid);
  }

  assumptions(): number {
    return this.#assumed.size;
  }

  /** Assumed pods whose binding was answered before `beforeMs` and was not seen since. */
  unconfirmed(beforeMs: number): readonly PodInfo[] {
    return [...this.#assumed.values()]
      .filter(({ boundAtMs }) => boundAtMs !== undefined && boundAtMs <= beforeMs)
      .map(({ pod }) => pod);
  }

  #put(pod: PodInfo): void {
    this.#placed.set(pod.uid, pod);
    const onNode = this.#placedByNode.get(pod.nodeName) ?? new Map<string, PodInfo>();
    this.#placedByNode.set(pod.nodeName, onNode);
    onNode.set(pod.uid, pod);
    this.#counts.added(pod);
    const node = this.#nodes.get(pod.nodeName);
    node?.add(pod);
    this.#noteAffinity(node);
  }

  #take(pod: PodInfo): void {
    this.#placed.delete(pod.uid);
    const onNode = this.#placedByNode.get(pod.nodeName);
    onNode?.delete(pod.uid);
    if (onNode?.size === 0) this.#placedByNode.delete(pod.nodeName);
    this.#counts.removed(pod);
    const node = this.#nodes.get(pod.nodeName);
    node?.remove(pod.uid);
    this.#noteAffinity(node);
  }

  #noteAffinity(node: MutableNodeInfo | undefined): void {
    if (node === undefined) return;
    if (node.podsWithAffinity.size > 0) this.#withAffinity.add(node);
    else this.#withAffinity.delete(node);
  }
}

function decidesAlike(a: Node, b: Node): boolean {
  return (
    deepEqual(a.metadata.labels, b.metadata.labels) &&
    deepEqual(a.spec, b.spec) &&
    deepEqual(a.status.allocatable, b.status.allocatable)
  );
}

function countsAlike(a: PodInfo, b: PodInfo): boolean {
  return a.terminating === b.terminating && deepEqual(a.labels, b.labels) && deepEqual(a.pod.spec, b.pod.spec);
}

/** Finished pods hold nothing of their node any more. */
export function isFinished(pod: Pod): boolean {
  return pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
}
