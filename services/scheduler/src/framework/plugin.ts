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

/** `undefined` = the node passes. */
export type NodeFilter = (node: NodeInfo) => Rejection | undefined;

/** A check of nodes that can be told of pods put onto or taken from one node, on trial. */
export interface Fork {
  readonly check: NodeFilter;
  readonly adjust: (pod: PodInfo, node: NodeInfo, by: 1 | -1) => void;
}

/** What PreFilter says: nothing to check, no node at all, or the Filter of each node. */
export type PreFiltered =
  | { readonly kind: 'skip' }
  | { readonly kind: 'reject'; readonly rejection: Rejection }
  | {
      readonly kind: 'check';
      readonly check: NodeFilter;
      /** Present = all other nodes are out of the question. */
      readonly only?: ReadonlySet<string>;
      /** Present when the check rests on more than the node that it is given. The fork must not touch its origin. */
      readonly fork?: () => Fork;
    };

/** Score and NormalizeScore of one decision. */
export interface NodeScorer {
  readonly score: (node: NodeInfo) => number;
  /** Turns raw scores into 0..100 in place; the nodes are those of `score`, in the same order. */
  readonly normalize?: (scores: number[], nodes: readonly NodeInfo[]) => void;
}

/** What may let a rejected pod pass, and what each event tells. */
export interface EventSubjects {
  readonly 'node-added': NodeInfo;
  /** As it was. */
  readonly 'node-removed': NodeInfo;
  readonly 'node-labels': NodeInfo;
  readonly 'node-taints': NodeInfo;
  readonly 'node-allocatable': NodeInfo;
  /** The node releases other pods than before, see `releases`. */
  readonly 'node-condition': NodeInfo;
  readonly 'pod-placed': PodInfo;
  readonly 'pod-removed': PodInfo;
  /** A placed pod has other labels: as it is now. */
  readonly 'pod-labels': PodInfo;
  /** A placed pod requests less. */
  readonly 'pod-smaller': PodInfo;
  readonly 'claim-changed': PersistentVolumeClaim;
  readonly 'volume-changed': PersistentVolume;
  readonly 'class-changed': StorageClass;
  /** Name of the node whose CSI drivers changed. */
  readonly 'csi-changed': string;
  readonly 'namespace-changed': string;
}
export type EventKind = keyof EventSubjects;
/** Whether the event is worth another try of this pod. `true` for a kind = every such event. */
export type Hints = {
  readonly [K in EventKind]?: ((pod: PodInfo, about: EventSubjects[K]) => boolean) | true;
};

export interface PostFilterContext extends Cycle {
  readonly refusal: Refusal;
  readonly filters: readonly NamedFilter[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly random: Random;
}

/** Nodes on which room can be made; or why there are none, and whether a nomination from before still holds. */
export type PostFiltered =
  | { readonly kind: 'candidates'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'none'; readonly message: string; readonly keeps: boolean };

export type Permission =
  | { readonly kind: 'allow' }
  | { readonly kind: 'reject'; readonly message: string }
  /** Settles with `undefined` to allow or with the reason to refuse; no answer within `timeoutMs` refuses. */
  | { readonly kind: 'wait'; readonly timeoutMs: number; readonly answer: Promise<string | undefined> };

/** A node that was chosen for a pod, on its way to being bound. */
export interface Placing {
  readonly pod: PodInfo;
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

/**
 * One rule of scheduling at its extension points; what it does not take part in is absent. `preFilter` and `preScore` are
 * called once per decision and return what is asked of each node. Everything up to `reserve` is synchronous: no I/O, no
 * time, no randomness.
 */
export interface Plugin {
  readonly preEnqueue?: (pod: PodInfo) => string | undefined;
  /** Negative when the first goes first. */
  readonly queueSort?: (a: Queueable, b: Queueable) => number;
  readonly preFilter?: (cycle: Cycle) => PreFiltered;
  /** The check rests on the node and on `PodInfo.nodeNeeds` alone: pods with equal needs share it until the node changes. */
  readonly localFilter?: true;
  readonly postFilter?: (context: PostFilterContext) => PostFiltered;
  /** Among the feasible nodes; `undefined` = all are equal to the plugin. */
  readonly preScore?: (cycle: Cycle, feasible: readonly NodeInfo[]) => NodeScorer | undefined;
  /** The same for the score, which is not normalized. */
  readonly localScore?: true;
  /** Takes the cluster's share for the pod; the text says why it could not. */
  readonly reserve?: (cycle: Cycle, node: NodeInfo) => string | undefined;
  /** Undoes `reserve`; also called when it was never reached. */
  readonly unreserve?: (pod: PodInfo, nodeName: string) => void;
  readonly permit?: (pod: PodInfo, nodeName: string) => Permission;
  /** Rejects when the pod cannot be bound; `undefined` = there is nothing to wait for. */
  readonly preBind?: (placing: Placing) => Promise<void> | undefined;
  /** Answers `skip` when another plugin is to bind the pod. */
  readonly bind?: (placing: Placing) => Promise<'bound' | 'skip'>;
  readonly postBind?: (pod: PodInfo, nodeName: string) => void;
  /** Events after which a pod that this plugin rejected is worth another try. */
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

/** Whether a plugin with these hints wants pods that it rejected to be tried again. */
export function helps<K extends EventKind>(hints: Hints, kind: K, pod: PodInfo, about: EventSubjects[K]): boolean {
  const hint: Hints[K] = hints[kind];
  if (hint === undefined) return false;
  return hint === true || hint(pod, about);
}
