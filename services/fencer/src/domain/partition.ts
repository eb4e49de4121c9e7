import { hasTaint, type Node, nodeCondition, type Pod, podCondition, UNREACHABLE_TAINT } from '@holdfast/api';
import { claimOf, fencedConditionOf, isMarked, PARTITIONED, REQUESTED, UNFENCE } from './marks.ts';

const NODE_DOWN = 'NodeDown';

/** Returns the signs that a node is disconnected; empty when there are none. */
export function signsOf(node: Node, pods: readonly Pod[]): readonly string[] {
  const down = pods.filter(isDown).length;
  return [
    ...(nodeCondition(node, 'Ready')?.status === 'Unknown' ? ['Ready is Unknown'] : []),
    ...(isUnreachable(node) ? [`taint ${UNREACHABLE_TAINT}`] : []),
    ...(down === 0 ? [] : [`${down} pod(s) with the condition ${NODE_DOWN}`]),
    ...(isMarked(node, PARTITIONED) ? [`annotation ${PARTITIONED}`] : []),
  ];
}

const isUnreachable = (node: Node): boolean => hasTaint(node, UNREACHABLE_TAINT);

const isDown = (pod: Pod): boolean => podCondition(pod, NODE_DOWN)?.status === 'True';

/** False for a healthy node without a fence: its pods and volumes need not be read. */
export function isConcerned(node: Node): boolean {
  const ready = nodeCondition(node, 'Ready');
  const isIll = ready !== undefined && ready.status !== 'True';
  return isIll || isUnreachable(node) || isTold(node) || isUnderWay(node);
}

const isTold = (node: Node): boolean => [PARTITIONED, REQUESTED, UNFENCE].some((each) => isMarked(node, each));

/** A fence is requested, in progress or in force, or the partition on record is over. */
function isUnderWay(node: Node): boolean {
  const { status, reason } = fencedConditionOf(node) ?? {};
  return claimOf(node) !== undefined || (status !== undefined && status !== 'False') || isOpen(reason);
}

/** Reasons of Fenced=False that report a partition. */
export const DETECTED = 'PartitionDetected';
export const HELD_BACK = 'FencingHeldBack';
/** The reason for a partition that is over. */
export const OVER = 'PartitionOver';
/** The fence was lifted, and the node has not been ready since. */
export const UNFENCED = 'Unfenced';

const isOpen = (reason: string | undefined): boolean =>
  reason === DETECTED || reason === HELD_BACK || reason === UNFENCED;

/** True while the fencer works on the node or has fenced it. */
export const isFencing = (node: Node): boolean => {
  const status = fencedConditionOf(node)?.status;
  return status === 'True' || status === 'Unknown';
};
