import { setHostPorts, setRequestsFromLimits } from '../../defaults/containers.ts';
import { dropInitContainerAnnotations, setPodSpecDefaults } from '../../defaults/pod-spec.ts';
import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../generated/types.ts';

export function setPodDefaults(pod: Pod): void {
  setDefault(pod, 'spec', { containers: [] });
  setDefault(pod, 'status', {});
  setConditionTimes(pod.status.conditions, 'lastProbeTime', 'lastTransitionTime');
  setAddresses(pod.status);
  dropInitContainerAnnotations(pod.metadata);
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

/** `podIP` and the first of `podIPs` are equal, even from an old kubelet. When they differ, `podIP` wins. */
function setAddresses(status: PodStatus): void {
  const [first] = status.podIPs ?? [];
  if (status.podIP) {
    if (status.podIP !== first?.ip) status.podIPs = [{ ip: status.podIP }];
  } else if (first?.ip) status.podIP = first.ip;
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
