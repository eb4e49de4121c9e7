import {
  hasTaint,
  isCovered,
  isNodeReady,
  isPodFinished,
  type Node,
  type NodePromise,
  OUT_OF_SERVICE_TAINT,
  type Pod,
} from '@holdfast/api';
import { compareText, createdAt, isTerminating, keyOf, nameOf } from '../../common/meta.ts';
import { withPodCondition } from '../../common/pods.ts';

export interface PodGarbageSnapshot {
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  /** Nodes proven absent by a live answer in this pass. */
  readonly absentNodes: ReadonlySet<string>;
  /** The promise of a node, if there is one. */
  readonly promiseOf: (node: string) => NodePromise | undefined;
  /** Finished pods that may stay; 0 or less keeps all. Never switches the other causes off. */
  readonly terminatedPodThreshold: number;
}

export type CollectionCause = 'terminated' | 'orphaned' | 'unscheduled-terminating' | 'out-of-service' | 'self-fenced';

export interface CollectPod {
  readonly type: 'collect-pod';
  readonly cause: CollectionCause;
  readonly pod: Pod;
  /** Written before the pod is ended; absent when it is terminal already. */
  readonly marked: Pod | undefined;
}

/** Returns the pods that nothing else will ever end. Each pod appears once, with the first applicable cause. */
export function decide(snapshot: PodGarbageSnapshot, now: number): readonly CollectPod[] {
  const causes: readonly [CollectionCause, readonly Pod[]][] = [
    ['terminated', beyondThreshold(snapshot)],
    ['orphaned', snapshot.pods.filter((pod) => snapshot.absentNodes.has(nodeOf(pod)))],
    ['unscheduled-terminating', snapshot.pods.filter((pod) => isTerminating(pod) && nodeOf(pod) === '')],
    ['out-of-service', outOfService(snapshot)],
    ['self-fenced', snapshot.pods.filter((pod) => isEndedByWatchdog(pod, snapshot))],
  ];
  const seen = new Set<string>();
  return causes.flatMap(([cause, pods]) =>
    pods.flatMap((pod) => {
      if (seen.has(keyOf(pod)) || isHeldOnly(pod)) return [];
      seen.add(keyOf(pod));
      return [{ type: 'collect-pod', cause, pod, marked: marked(pod, cause, now) } as const];
    }),
  );
}

/** It has ended and its removal was requested: only the owners of its finalizers can do more. */
const isHeldOnly = (pod: Pod): boolean =>
  isPodFinished(pod) &&
  isTerminating(pod) &&
  pod.metadata.deletionGracePeriodSeconds === 0 &&
  (pod.metadata.finalizers ?? []).length > 0;

const nodeOf = (pod: Pod): string => pod.spec.nodeName ?? '';

/** Evicted pods first, then the oldest. */
function beyondThreshold({ pods, terminatedPodThreshold }: PodGarbageSnapshot): readonly Pod[] {
  if (terminatedPodThreshold <= 0) return [];
  const finished = pods.filter(isPodFinished);
  const evicted = (pod: Pod): number => (pod.status.reason === 'Evicted' ? 0 : 1);
  const order = (a: Pod, b: Pod): number =>
    evicted(a) - evicted(b) || createdAt(a) - createdAt(b) || compareText(keyOf(a), keyOf(b));
  return finished.sort(order).slice(0, Math.max(0, finished.length - terminatedPodThreshold));
}

/** The administrator or a fencer has declared the machine dead by the taint. */
function outOfService({ pods, nodes }: PodGarbageSnapshot): readonly Pod[] {
  const dead = new Set(nodes.filter((node) => !isNodeReady(node) && hasTaint(node, OUT_OF_SERVICE_TAINT)).map(nameOf));
  return pods.filter((pod) => isTerminating(pod) && dead.has(nodeOf(pod)));
}

/** Its deletion was requested, and its node has been out of contact for longer than its watchdog lets the pod live. */
export function isEndedByWatchdog(pod: Pod, { promiseOf }: Pick<PodGarbageSnapshot, 'promiseOf'>): boolean {
  const promise = nodeOf(pod) === '' || !isTerminating(pod) ? undefined : promiseOf(nodeOf(pod));
  return promise?.isBroken === true && isCovered(promise.policy, pod);
}

function marked(pod: Pod, cause: CollectionCause, now: number): Pod | undefined {
  if (isPodFinished(pod)) return undefined;
  const failed: Pod = { ...pod, status: { ...pod.status, phase: 'Failed' } };
  if (cause !== 'orphaned') return failed;
  const text = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' };
  return withPodCondition(failed, { type: 'DisruptionTarget', status: 'True', ...text }, now);
}
