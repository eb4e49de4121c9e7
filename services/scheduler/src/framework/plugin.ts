import type { CountsByNode, PodGroup } from '../domain/match-counts.ts';
import type { NodeInfo } from '../domain/node-info.ts';
import type { NamespaceLabels } from '../domain/pod-affinity.ts';
import type { PodInfo } from '../domain/pod-info.ts';

/** Everything a decision may look at. It does not change while a decision is made. */
export interface Snapshot {
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  /** Nodes that hold pods with affinity or anti-affinity terms. */
  readonly nodesWithAffinityPods: readonly NodeInfo[];
  countsOf(group: PodGroup): CountsByNode;
  readonly namespaceLabels: NamespaceLabels;
  /** Pods that wait for room that is being made for them on this node. */
  nominatedOn(name: string): readonly PodInfo[];
  /** The node on which room is being made for this pod, '' for none. */
  nominationOf(pod: PodInfo): string;
}

/** One pod being decided on. */
export interface Cycle {
  readonly pod: PodInfo;
  readonly snapshot: Snapshot;
}

export interface Rejection {
  readonly reasons: readonly string[];
  /** False when removing pods from the node cannot help. */
  readonly resolvable: boolean;
}

/** `undefined` = the node passes. */
export type NodeFilter = (node: NodeInfo) => Rejection | undefined;

export interface NodeScorer {
  readonly score: (node: NodeInfo) => number;
  /** Turns raw scores into 0..100 in place; the nodes are those of `score`, in the same order. */
  readonly normalize?: (scores: number[], nodes: readonly NodeInfo[]) => void;
}

/** What may let a rejected pod pass. */
export type ClusterEvent = 'node-added' | 'node-changed' | 'pod-placed' | 'pod-removed' | 'pod-changed';

/**
 * One rule of scheduling: a factory in `plugins/<name>.ts`, its test beside it, one line in `plugins/registry.ts`. Every
 * extension point is optional and pure: no I/O, no time, no randomness.
 */
export interface Plugin {
  readonly name: string;
  /** Before the pod is queued: why it must wait for its author. */
  readonly gate?: (pod: PodInfo) => string | undefined;
  /** Once per decision: the check of each node, or `undefined` when this pod does not concern the plugin. */
  readonly filter?: (cycle: Cycle) => NodeFilter | undefined;
  /** Once per decision among the feasible nodes: the scorer, or `undefined` when all are equal to the plugin. */
  readonly score?: (cycle: Cycle, feasible: readonly NodeInfo[]) => NodeScorer | undefined;
  /** Multiplies the plugin's scores; default 1. */
  readonly weight?: number;
  /** Events after which a pod that this plugin rejected is worth another try. */
  readonly retryAfter?: readonly ClusterEvent[];
}

/** Ends the way of a pod that was placed: the one step that leaves the process. */
export interface Binder {
  readonly name: string;
  bind(pod: PodInfo, nodeName: string): Promise<void>;
}

export const rejected = (...reasons: readonly string[]): Rejection => ({ reasons, resolvable: true });
export const rejectedForGood = (...reasons: readonly string[]): Rejection => ({ reasons, resolvable: false });
