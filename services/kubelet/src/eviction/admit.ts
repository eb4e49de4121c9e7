import type { Pod } from '@holdfast/api';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { qosClass } from '../domain/qos.ts';
import { isCritical } from './critical.ts';
import type { PressureCondition } from './signals.ts';

const MEMORY_TAINT = 'node.kubernetes.io/memory-pressure';

/**
 * Whether a node that is short of something takes one more pod. Who asked for memory got its part of it; who did not would
 * only be the next to go, unless it says that it can live with that.
 */
export function refuseUnderPressure(pod: Pod, conditions: readonly PressureCondition[]): PodFailure | undefined {
  if (conditions.length === 0 || isCritical(pod)) return undefined;
  if (conditions.every((each) => each === 'MemoryPressure')) {
    if ((pod.status.qosClass ?? qosClass(pod)) !== 'BestEffort' || toleratesMemoryPressure(pod)) return undefined;
  }
  const text = `The node had condition: [${conditions.join(' ')}]. `;
  return { reason: 'Evicted', message: `Pod was rejected: ${text}`, event: { type: 'Warning', message: text } };
}

function toleratesMemoryPressure({ spec }: Pod): boolean {
  return (spec.tolerations ?? []).some(({ key = '', effect = '', operator = 'Equal', value = '' }) => {
    if (effect !== '' && effect !== 'NoSchedule') return false;
    if (key === '') return operator === 'Exists';
    return key === MEMORY_TAINT && (operator === 'Exists' || value === '');
  });
}
