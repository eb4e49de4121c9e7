import type { KubeObject, Pod, ResourceRef } from '@holdfast/api';
import type { InformerChange } from '@holdfast/client';
import { TIMED_EVERY } from './limits.ts';
import type { SchedulerMetrics } from './metrics.ts';

type Listener<T extends KubeObject> = (change: InformerChange<T>) => void;

/** Measures a sample of the listeners, under kube-scheduler's event names. */
export type TimeEvents = <T extends KubeObject>(resource: ResourceRef<T>, listener: Listener<T>) => Listener<T>;

export function createEventTiming(metrics: Pick<SchedulerMetrics, 'eventHandled'>, nowMs: () => number): TimeEvents {
  const seriesOf = (resource: string) => ({
    Add: metrics.eventHandled(`${resource}Add`),
    Update: metrics.eventHandled(`${resource}Update`),
    Delete: metrics.eventHandled(`${resource}Delete`),
  });
  return ({ group, kind }, listener) => {
    const isPod = kind === 'Pod';
    const series = seriesOf(isPod ? 'UnschedulablePod' : group === '' ? kind : `${group}/${kind}`);
    const ofAssigned = isPod ? seriesOf('AssignedPod') : series;
    let changes = 0;
    return (change) => {
      if (changes++ % TIMED_EVERY !== 0) {
        listener(change);
        return;
      }
      const startedMs = nowMs();
      listener(change);
      const { object, old } = change;
      const action = object === undefined ? 'Delete' : old === undefined ? 'Add' : 'Update';
      (isAssigned(object ?? old) ? ofAssigned : series)[action]((nowMs() - startedMs) / 1_000);
    };
  };
}

/** Also called for other kinds, where it makes no difference. */
const isAssigned = (object: (KubeObject & { readonly spec?: Partial<Pod['spec']> }) | undefined): boolean =>
  (object?.spec?.nodeName ?? '') !== '';
