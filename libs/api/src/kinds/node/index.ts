import { setResourceListDefaults } from '../../defaults/resources.ts';
import { setConditionTimes, setDefault } from '../../defaults/set.ts';
import type { Node } from '../../generated/types.ts';
import { NODES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepSpec, keepStatus } from '../strategy.ts';
import { nodeColumns } from './columns.ts';
import { NO_NODE_INFO } from './node-info.ts';
import { nodeChecks, validateNodeStatusUpdate } from './validation.ts';

export const nodeResource = defineResource(NODES, {
  setDefaults: setNodeDefaults,
  strategy: {
    prepareForCreate: (node) => {
      delete node.spec.configSource;
      delete node.status.config;
      delete node.status.features;
    },
    prepareForUpdate: (node, old) => {
      keepStatus(node, old);
      if (old.spec.configSource === undefined) delete node.spec.configSource;
    },
    ...nodeChecks,
    warnings: nodeWarnings,
    allowUnconditionalUpdate: true,
  },
  status: {
    prepareForUpdate: (node, old) => {
      keepSpec(node, old);
      if (old.status.config === undefined) delete node.status.config;
    },
    validateUpdate: validateNodeStatusUpdate,
  },
  columns: nodeColumns,
  selectableFields: { 'spec.unschedulable': (node) => String(node.spec.unschedulable === true) },
});

function nodeWarnings({ spec }: Readonly<Node>): readonly string[] {
  const out: string[] = [];
  if (spec.configSource !== undefined) out.push('spec.configSource: the feature is removed');
  if (spec.externalID) out.push('spec.externalID: this field is deprecated, and is unused by Kubernetes');
  return out;
}

function setNodeDefaults(node: Node): void {
  setDefault(node, 'spec', {});
  syncPodCidrs(node);
  setDefault(node, 'status', { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: { ...NO_NODE_INFO } });
  const { status } = node;
  setConditionTimes(status.conditions, 'lastHeartbeatTime', 'lastTransitionTime');
  setDefault(status, 'daemonEndpoints', { kubeletEndpoint: { Port: 0 } });
  setDefault(status.daemonEndpoints, 'kubeletEndpoint', { Port: 0 });
  status.nodeInfo = { ...NO_NODE_INFO, ...status.nodeInfo };
  setResourceListDefaults(status.capacity);
  setResourceListDefaults(status.allocatable);
  // Without reserved resources the whole capacity is allocatable.
  if (status.allocatable === undefined && status.capacity !== undefined) status.allocatable = { ...status.capacity };
}

/**
 * `podCIDR` is the first of `podCIDRs`; a client that sets one sets both. When they differ, the field that old clients
 * know wins.
 */
function syncPodCidrs({ spec }: Node): void {
  const [first] = spec.podCIDRs ?? [];
  if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first !== undefined) spec.podCIDR = first;
}
