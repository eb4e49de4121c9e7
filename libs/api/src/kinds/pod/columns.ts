import { ageColumn, NONE, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import type { Pod } from '../../generated/types.ts';
import type { Column, RowCondition } from '../../resource.ts';
import { hasPodFailed, hasPodSucceeded } from '../../semantics/pods.ts';
import { printedPod } from './printed.ts';

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  textColumn('Ready', 'Ready containers of all containers that keep running', (pod, { now }) => {
    const { ready, total } = printedPod(pod, now);
    return `${ready}/${total}`;
  }),
  textColumn('Status', 'What the containers of the pod are doing', (pod, { now }) => printedPod(pod, now).reason),
  textColumn(
    'Restarts',
    'How often containers of the pod were restarted, and when last',
    (pod, { now }) => printedPod(pod, now).restarts,
  ),
  ageColumn,
  wide(textColumn('IP', 'The IP address of the pod', (pod) => pod.status.podIPs?.[0]?.ip || NONE)),
  wide(textColumn('Node', 'The node that the pod is bound to', (pod) => pod.spec.nodeName || NONE)),
  wide(
    textColumn('Nominated Node', 'The node on which room is being made for the pod', (pod) => {
      return pod.status.nominatedNodeName || NONE;
    }),
  ),
  wide(textColumn('Readiness Gates', 'Readiness gates that are true, of all', readinessGates)),
];

function readinessGates(pod: Readonly<Pod>): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return NONE;
  const isTrue = (type: string): boolean =>
    pod.status.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
  return `${gates.filter((gate) => isTrue(gate.conditionType)).length}/${gates.length}`;
}

const COMPLETED = { type: 'Completed', status: 'True' } as const;

/** Pods that will not run again. Clients may hide them. */
export function completedConditions(pod: Readonly<Pod>): readonly RowCondition[] {
  if (hasPodSucceeded(pod)) {
    return [{ ...COMPLETED, reason: 'Succeeded', message: 'The pod has completed successfully.' }];
  }
  return hasPodFailed(pod) ? [{ ...COMPLETED, reason: 'Failed', message: 'The pod failed.' }] : [];
}
