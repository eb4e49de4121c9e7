import type { PersistentVolume, PersistentVolumeClaim, PodDisruptionBudget, StorageClass } from '@holdfast/api';
import type { Random } from '@holdfast/platform';
import type { NodeInfo } from '../domain/node-info.ts';
import type { PodInfo } from '../domain/pod-info.ts';
import type { Candidate } from '../domain/preemption.ts';
import type { Refusal } from '../domain/schedule.ts';
import type { NamedFilter } from './prepared.ts';
import type { Cycle } from './snapshot.ts';

export type { Cycle, Snapshot } from './snapshot.ts';

export const EXTENSION_POINTS = [
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
] as const;
export type ExtensionPoint = (typeof EXTENSION_POINTS)[number];

export interface Rejection {
  readonly reasons: readonly string[];
  /** False when removing pods from the node cannot help. */
  readonly resolvable: boolean;
}

/** `undefined` means that the node passes. */
export type NodeFilter = (node: NodeInfo) => Rejection | undefined;

/** A node check that can add or remove pods of one node for a trial. */
export interface Fork {
  readonly check: NodeFilter;
  readonly adjust: (pod: PodInfo, node: NodeInfo, by: 1 | -1) => void;
}

/** The result of PreFilter: nothing to check, no node fits, or a filter for each node. */
export type PreFiltered =
  | { readonly kind: 'skip' }
  | { readonly kind: 'reject'; readonly rejection: Rejection }
  | {
      readonly kind: 'check';
      readonly check: NodeFilter;
      /** When present, only these nodes are possible. */
      readonly only?: ReadonlySet<string>;
      /** Present when the check depends on more than the node. The fork must not modify its origin. */
      readonly fork?: () => Fork;
    };

/** Score and NormalizeScore of one decision. */
export interface NodeScorer {
  readonly score: (node: NodeInfo) => number;
  /** Converts raw scores to 0..100 in place; the nodes are those of `score` in the same order. */
  readonly normalize?: (scores: number[], nodes: readonly NodeInfo[]) => void;
}

/** Events that may let a rejected pod pass, with their subjects. */
export interface EventSubjects {
  readonly 'node-added': NodeInfo;
  /** The node before its removal. */
  readonly 'node-removed': NodeInfo;
  readonly 'node-labels': NodeInfo;
  readonly 'node-taints': NodeInfo;
  readonly 'node-allocatable': NodeInfo;
  /** The node's released pods changed, see `releases`. */
  readonly 'node-condition': NodeInfo;
  readonly 'pod-placed': PodInfo;
  readonly 'pod-removed': PodInfo;
  /** A placed pod changed its labels; the subject is its new state. */
  readonly 'pod-labels': PodInfo;
  /** A placed pod reduced its requests. */
  readonly 'pod-smaller': PodInfo;
  readonly 'claim-changed': PersistentVolumeClaim;
  readonly 'volume-changed': PersistentVolume;
  readonly 'class-changed': StorageClass;
  /** Name of the node whose CSI drivers changed. */
  readonly 'csi-changed': string;
  readonly 'namespace-changed': string;
}
export type EventKind = keyof EventSubjects;
/** Decides whether the event justifies another attempt of this pod. `true` for a kind means every event. */
export type Hints = {
  readonly [K in EventKind]?: ((pod: PodInfo, about: EventSubjects[K]) => boolean) | true;
};

export interface PostFilterContext extends Cycle {
  readonly refusal: Refusal;
  readonly filters: readonly NamedFilter[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly random: Random;
}

/** Nodes for preemption, or why there are none and whether an earlier nomination stays valid. */
export type PostFiltered =
  | { readonly kind: 'candidates'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'none'; readonly message: string; readonly keeps: boolean };

export type Permission =
  | { readonly kind: 'allow' }
  | { readonly kind: 'reject'; readonly message: string }
  /** Resolves with `undefined` to allow or with a reason to refuse. A time-out refuses. */
  | { readonly kind: 'wait'; readonly timeoutMs: number; readonly answer: Promise<string | undefined> };

/** A chosen node for a pod before its binding. */
export interface Placing {
  readonly pod: PodInfo;
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

/**
 * One scheduling rule at its extension points; unused points are absent. `preFilter` and `preScore` run once per
 * decision and return the function for each node. Everything up to `reserve` is synchronous: no I/O, no time, no
 * randomness.
 */
export interface Plugin {
  readonly preEnqueue?: (pod: PodInfo) => string | undefined;
  /** Negative when the first argument comes first. */
  readonly queueSort?: (a: Queueable, b: Queueable) => number;
  readonly preFilter?: (cycle: Cycle) => PreFiltered;
  /**
   * The check depends only on the node and on `PodInfo.nodeNeeds`: pods with equal needs share it until the node
   * changes.
   */
  readonly localFilter?: true;
  readonly postFilter?: (context: PostFilterContext) => PostFiltered;
  /** Called with the feasible nodes; `undefined` means that all nodes are equal to the plugin. */
  readonly preScore?: (cycle: Cycle, feasible: readonly NodeInfo[]) => NodeScorer | undefined;
  /** The same for scores that are not normalized. */
  readonly localScore?: true;
  /** Reserves cluster resources for the pod; a string explains why it failed. */
  readonly reserve?: (cycle: Cycle, node: NodeInfo) => string | undefined;
  /** Undoes `reserve`; also called when `reserve` never ran. */
  readonly unreserve?: (pod: PodInfo, nodeName: string) => void;
  readonly permit?: (pod: PodInfo, nodeName: string) => Permission;
  /** Rejects when the pod cannot be bound; `undefined` means that there is nothing to wait for. */
  readonly preBind?: (placing: Placing) => Promise<void> | undefined;
  /** Returns `skip` when another plugin must bind the pod. */
  readonly bind?: (placing: Placing) => Promise<'bound' | 'skip'>;
  readonly postBind?: (pod: PodInfo, nodeName: string) => void;
  /** Events after which a pod that this plugin rejected is tried again. */
  readonly wakesOn?: Hints;
}

export interface Queueable {
  readonly pod: PodInfo;
  readonly order: number;
}

export const SKIP: PreFiltered = { kind: 'skip' };
export const checking = (check: NodeFilter): PreFiltered => ({ kind: 'check', check });
export const rejected = (...reasons: readonly string[]): Rejection => ({ reasons, resolvable: true });
export const rejectedForGood = (...reasons: readonly string[]): Rejection => ({ reasons, resolvable: false });

/** True when these hints request another attempt of a rejected pod. */
export function helps<K extends EventKind>(hints: Hints, kind: K, pod: PodInfo, about: EventSubjects[K]): boolean {
  const hint: Hints[K] = hints[kind];
  if (hint === undefined) return false;
  return hint === true || hint(pod, about);
}
