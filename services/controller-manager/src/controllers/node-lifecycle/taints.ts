import {
  DISK_PRESSURE_TAINT,
  MEMORY_PRESSURE_TAINT,
  NETWORK_UNAVAILABLE_TAINT,
  NOT_READY_TAINT,
  type Node,
  type NodeCondition,
  nodeCondition,
  PID_PRESSURE_TAINT,
  type Taint,
  UNREACHABLE_TAINT,
  UNSCHEDULABLE_TAINT,
} from '@holdfast/api';
import { formatTime } from '@holdfast/platform';

/** Taints that mirror a condition, for the scheduler. */
const CONDITION_TAINTS: readonly { readonly type: string; readonly status: string; readonly key: string }[] = [
  { type: 'Ready', status: 'False', key: NOT_READY_TAINT },
  { type: 'Ready', status: 'Unknown', key: UNREACHABLE_TAINT },
  { type: 'MemoryPressure', status: 'True', key: MEMORY_PRESSURE_TAINT },
  { type: 'DiskPressure', status: 'True', key: DISK_PRESSURE_TAINT },
  { type: 'PIDPressure', status: 'True', key: PID_PRESSURE_TAINT },
  { type: 'NetworkUnavailable', status: 'True', key: NETWORK_UNAVAILABLE_TAINT },
];

const MANAGED_NO_SCHEDULE = new Set([...CONDITION_TAINTS.map(({ key }) => key), UNSCHEDULABLE_TAINT]);
const MANAGED_NO_EXECUTE = new Set([UNREACHABLE_TAINT, NOT_READY_TAINT]);

export const readyCondition = (node: Node): NodeCondition | undefined => nodeCondition(node, 'Ready');

export const noExecuteTaints = (node: Node): readonly Taint[] =>
  (node.spec.taints ?? []).filter((taint) => taint.effect === 'NoExecute');

/** The NoExecute taint that the node's readiness calls for. */
export function evictionTaint(node: Node): string | undefined {
  const ready = readyCondition(node);
  if (ready?.status === 'Unknown') return UNREACHABLE_TAINT;
  return ready?.status === 'False' ? NOT_READY_TAINT : undefined;
}

/** True when the node has the NoExecute taint of a node that is not ready or not reachable. */
export const hasEvictionTaint = (node: Node): boolean =>
  noExecuteTaints(node).some(({ key }) => MANAGED_NO_EXECUTE.has(key));

/**
 * The taints a node should have, or undefined when it has them. `evictFor` names the NoExecute taint that it may get or
 * keep now; taints that people set are left alone.
 */
export function desiredTaints(node: Node, evictFor: string | undefined, now: number): readonly Taint[] | undefined {
  const noSchedule = new Set(
    CONDITION_TAINTS.filter(({ type, status }) =>
      node.status.conditions?.some((condition) => condition.type === type && condition.status === status),
    ).map(({ key }) => key),
  );
  if (node.spec.unschedulable === true) noSchedule.add(UNSCHEDULABLE_TAINT);
  const noExecute = new Set(evictFor === undefined ? [] : [evictFor]);
  const current = node.spec.taints ?? [];
  const isKept = ({ key, effect }: Taint): boolean => {
    if (effect === 'NoSchedule') return !MANAGED_NO_SCHEDULE.has(key) || noSchedule.has(key);
    return effect !== 'NoExecute' || !MANAGED_NO_EXECUTE.has(key) || noExecute.has(key);
  };
  const kept = current.filter(isKept);
  const wanted = [
    ...[...noSchedule].map((key) => ({ key, effect: 'NoSchedule' })),
    ...[...noExecute].map((key) => ({ key, effect: 'NoExecute' })),
  ];
  const added = wanted
    .filter(({ key, effect }) => !kept.some((taint) => taint.key === key && taint.effect === effect))
    .map((taint) => ({ ...taint, timeAdded: formatTime(now) }));
  return kept.length === current.length && added.length === 0 ? undefined : [...kept, ...added];
}
