import { isTolerated, MEMORY_PRESSURE_TAINT, type Pod, qosClassOf } from '@holdfast/api';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { isCritical } from './critical.ts';
import type { PressureCondition } from './signals.ts';

/**
 * Decides whether a node under pressure accepts one more pod. A pod with a memory request has its share; a pod without
 * one would only be the next to be evicted, unless it tolerates that.
 */
export function refuseUnderPressure(pod: Pod, conditions: readonly PressureCondition[]): PodFailure | undefined {
  if (conditions.length === 0 || isCritical(pod)) return undefined;
  if (conditions.every((each) => each === 'MemoryPressure')) {
    if ((pod.status.qosClass ?? qosClassOf(pod)) !== 'BestEffort' || toleratesMemoryPressure(pod)) return undefined;
  }
  const text = `The node had condition: [${conditions.join(' ')}]. `;
  return { reason: 'Evicted', message: `Pod was rejected: ${text}`, event: { type: 'Warning', message: text } };
}

const MEMORY_PRESSURE = { key: MEMORY_PRESSURE_TAINT, effect: 'NoSchedule' };

const toleratesMemoryPressure = ({ spec }: Pod): boolean => isTolerated(MEMORY_PRESSURE, spec.tolerations);
