import type { Pod } from '../../generated/types.ts';
import type { ResourceDefinition } from '../../resource.ts';

export const podSelectableFields: ResourceDefinition<Pod>['selectableFields'] = {
  'spec.nodeName': (pod) => pod.spec.nodeName ?? '',
  'spec.restartPolicy': (pod) => pod.spec.restartPolicy ?? '',
  'spec.schedulerName': (pod) => pod.spec.schedulerName ?? '',
  'spec.serviceAccountName': (pod) => pod.spec.serviceAccountName ?? '',
  'spec.hostNetwork': (pod) => String(pod.spec.hostNetwork === true),
  'status.phase': (pod) => pod.status.phase ?? '',
  'status.podIP': (pod) => pod.status.podIP ?? '',
  'status.podIPs': (pod) => pod.status.podIPs?.[0]?.ip ?? pod.status.podIP ?? '',
  'status.nominatedNodeName': (pod) => pod.status.nominatedNodeName ?? '',
};
