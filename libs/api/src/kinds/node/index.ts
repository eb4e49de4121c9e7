import { setResourceListDefaults } from '../../defaults/resources.ts';
import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import type { Node } from '../../generated/types.ts';
import { NODES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepStatus, nothingToPrepare, statusOnly } from '../strategy.ts';
import { nodeColumns } from './columns.ts';
import { nodeChecks } from './validation.ts';

export const nodeResource = defineResource(NODES, {
  setDefaults: setNodeDefaults,
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: keepStatus,
    ...nodeChecks,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(nodeChecks.validateUpdate),
  columns: nodeColumns,
  selectableFields: { 'spec.unschedulable': (node) => String(node.spec.unschedulable === true) },
});

const NODE_INFO = {
  architecture: '',
  bootID: '',
  containerRuntimeVersion: '',
  kernelVersion: '',
  kubeProxyVersion: '',
  kubeletVersion: '',
  machineID: '',
  operatingSystem: '',
  osImage: '',
  systemUUID: '',
};

function setNodeDefaults(node: Node): void {
  setDefault(node, 'spec', {});
  syncPodCidrs(node);
  setDefault(node, 'status', { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: { ...NODE_INFO } });
  const { status } = node;
  setConditionTimes(status.conditions, 'lastHeartbeatTime', 'lastTransitionTime');
  setDefault(status, 'daemonEndpoints', { kubeletEndpoint: { Port: 0 } });
  setDefault(status.daemonEndpoints, 'kubeletEndpoint', { Port: 0 });
  status.nodeInfo = { ...NODE_INFO, ...status.nodeInfo };
  setResourceListDefaults(status.capacity);
  setResourceListDefaults(status.allocatable);
  // What is not said to be set aside can all be used.
  if (status.allocatable === undefined && status.capacity !== undefined) status.allocatable = { ...status.capacity };
}

/** `podCIDR` is the first of `podCIDRs`; whoever gives one means both. */
function syncPodCidrs({ spec }: Node): void {
  const [first] = spec.podCIDRs ?? [];
  if (first === undefined && spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  else if (first !== undefined && !spec.podCIDR) spec.podCIDR = first;
}
