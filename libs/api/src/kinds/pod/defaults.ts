import { setHostPorts, setRequestsFromLimits } from '../../defaults/containers.ts';
import { setPodSpecDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import type { ContainerStatus, Pod } from '../../generated/types.ts';

export function setPodDefaults(pod: Pod): void {
  setDefault(pod, 'spec', { containers: [] });
  setDefault(pod, 'status', {});
  setConditionTimes(pod.status.conditions, 'lastProbeTime', 'lastTransitionTime');
  setPodSpecDefaults(pod.spec);
  setDefault(pod.spec, 'enableServiceLinks', true);
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    setRequestsFromLimits(container);
    if (pod.spec.hostNetwork === true) setHostPorts(container.ports);
  }
  setContainerStatusDefaults(pod.status.initContainerStatuses);
  setContainerStatusDefaults(pod.status.containerStatuses);
  setContainerStatusDefaults(pod.status.ephemeralContainerStatuses);
}

function setContainerStatusDefaults(statuses: readonly ContainerStatus[] | undefined): void {
  for (const status of statuses ?? []) {
    setDefault(status, 'state', {});
    setDefault(status, 'lastState', {});
    setDefault(status, 'ready', false);
    setDefault(status, 'restartCount', 0);
    setDefault(status, 'image', '');
    setDefault(status, 'imageID', '');
  }
}
