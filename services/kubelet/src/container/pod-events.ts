import type { Pod } from '@holdfast/api';
import type { EventRecorder } from '@holdfast/client';

export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly container?: string;
}

/** Without an object there is no event. */
export type TellPod = (pod: Pod | undefined, event: PodEvent) => void;

export function createPodEvents(recorder: EventRecorder): TellPod {
  return (pod, { container, ...event }) => {
    if (pod === undefined) return;
    recorder.event(pod, container === undefined ? event : { ...event, fieldPath: fieldPathOf(pod, container) });
  };
}

function fieldPathOf({ spec }: Pod, container: string): string {
  const isIn = (list: readonly { readonly name: string }[] | undefined): boolean =>
    list?.some(({ name }) => name === container) === true;
  const list = isIn(spec.initContainers)
    ? 'initContainers'
    : isIn(spec.ephemeralContainers)
      ? 'ephemeralContainers'
      : 'containers';
  return `spec.${list}{${container}}`;
}
