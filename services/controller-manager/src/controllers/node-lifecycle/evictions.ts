import {
  isNodeReady,
  NOT_READY_TAINT,
  type Node,
  type Pod,
  podCondition,
  type Taint,
  tolerationOf,
  UNREACHABLE_TAINT,
} from '@holdfast/api';
import { isTerminating, nameOf, uidOf } from '../../common/meta.ts';
import { withPodCondition } from '../../common/pods.ts';
import { noExecuteTaints } from './taints.ts';

/** By pod uid: the time since which this process has seen the pod under NoExecute taints. */
export type EvictionTimers = ReadonlyMap<string, number>;

export interface EvictionSnapshot {
  readonly node: Node | undefined;
  readonly pods: readonly Pod[];
  readonly timers: EvictionTimers;
  /** Every node is silent: then no pod is evicted. */
  readonly fullDisruption: boolean;
}

export type EvictionAction =
  | {
      readonly type: 'evict-pod';
      readonly pod: Pod;
      /** The status with the reason, written before the deletion. */
      readonly marked: Pod;
    }
  | { readonly type: 'cancel-eviction'; readonly pod: Pod }
  | { readonly type: 'clear-node-down'; readonly pod: Pod };

export interface EvictionDecision {
  readonly actions: readonly EvictionAction[];
  readonly timers: EvictionTimers;
  readonly lookAgainMs: number | undefined;
}

/**
 * Decides which pods leave a node now or later, and which evictions are cancelled. Timers count from the first
 * observation of the taint by this process.
 */
export function decideEvictions(
  { node, pods, timers, fullDisruption }: EvictionSnapshot,
  time: { readonly monotonicMs: number; readonly now: number },
): EvictionDecision {
  const taints = node === undefined ? [] : evictingTaints(node, fullDisruption);
  const next = new Map<string, number>();
  const actions: EvictionAction[] = [];
  const waits: number[] = [];
  for (const pod of pods) {
    const toleratedMs = node === undefined || isTerminating(pod) ? Number.POSITIVE_INFINITY : toleratedFor(pod, taints);
    const since = timers.get(uidOf(pod));
    if (toleratedMs === Number.POSITIVE_INFINITY) {
      if (since !== undefined && !isTerminating(pod)) actions.push({ type: 'cancel-eviction', pod });
      if (node !== undefined && isNodeReady(node)) actions.push(...clearNodeDown(pod, time.now));
      continue;
    }
    const startedMs = since ?? time.monotonicMs;
    next.set(uidOf(pod), startedMs);
    const leftMs = startedMs + toleratedMs - time.monotonicMs;
    if (leftMs > 0) waits.push(leftMs);
    else if (node !== undefined)
      actions.push({ type: 'evict-pod', pod, marked: markEvicted(pod, node, taints, time.now) });
  }
  return { actions, timers: next, lookAgainMs: waits.length === 0 ? undefined : Math.min(...waits) };
}

/** The NoExecute taints that count now. */
export const evictingTaints = (node: Node, fullDisruption: boolean): readonly Taint[] =>
  noExecuteTaints(node).filter(({ key }) => !fullDisruption || (key !== UNREACHABLE_TAINT && key !== NOT_READY_TAINT));

/** Returns how long a pod tolerates these taints: 0 when one is not tolerated, infinity when all have no limit. */
export function toleratedFor(pod: Pod, taints: readonly Taint[]): number {
  const limits: number[] = [];
  for (const taint of taints) {
    const toleration = tolerationOf(taint, pod.spec.tolerations);
    if (toleration === undefined) return 0;
    const { tolerationSeconds } = toleration;
    if (tolerationSeconds !== undefined) limits.push(Math.max(0, tolerationSeconds) * 1000);
  }
  return limits.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...limits);
}

function markEvicted(pod: Pod, node: Node, taints: readonly Taint[], now: number): Pod {
  const why = { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' };
  const target = withPodCondition(pod, { type: 'DisruptionTarget', status: 'True', ...why }, now);
  if (!taints.some(({ key }) => key === UNREACHABLE_TAINT)) return target;
  const message = `Node ${nameOf(node)} sends no heartbeats; the pod may still be running there`;
  const down = withPodCondition(target, { type: 'NodeDown', status: 'True', reason: 'NodePartitioned', message }, now);
  return {
    ...down,
    status: {
      ...down.status,
      reason: 'NodeLost',
      message: `Node ${nameOf(node)} which was running pod ${nameOf(pod)} is unresponsive`,
    },
  };
}

/** The node is back: the pod stayed there, and no eviction is in progress. */
function clearNodeDown(pod: Pod, now: number): readonly EvictionAction[] {
  if (podCondition(pod, 'NodeDown')?.status !== 'True') return [];
  const back = { reason: 'NodeReturned', message: 'The node sends heartbeats again' };
  const up = withPodCondition(pod, { type: 'NodeDown', status: 'False', ...back }, now);
  const isTarget = podCondition(pod, 'DisruptionTarget')?.reason === 'DeletionByTaintManager' && !isTerminating(pod);
  const freed = isTarget ? withPodCondition(up, { type: 'DisruptionTarget', status: 'False', ...back }, now) : up;
  if (freed.status.reason !== 'NodeLost') return [{ type: 'clear-node-down', pod: freed }];
  const { reason: _reason, message: _message, ...status } = freed.status;
  return [{ type: 'clear-node-down', pod: { ...freed, status } }];
}
