import { ageColumn, NONE, nameColumn, textColumn, wide } from '../../columns/columns.ts';
import type { Node } from '../../generated/types.ts';
import type { Column } from '../../resource.ts';
import { nodeCondition } from '../../semantics/nodes.ts';
import { FENCED } from './fence.ts';
import { isSelfFenced } from './promise.ts';

const ROLE_PREFIX = 'node-role.kubernetes.io/';

export const nodeColumns: readonly Column<Node>[] = [
  nameColumn,
  textColumn('Status', 'Whether the node is ready and takes new pods', statusOf),
  textColumn('Roles', 'The roles that the labels of the node give it', rolesOf),
  ageColumn,
  textColumn('Version', 'The version of the kubelet', (node) => node.status.nodeInfo.kubeletVersion),
  wide(textColumn('Internal-IP', 'The first internal address', (node) => addressOf(node, 'InternalIP'))),
  wide(textColumn('External-IP', 'The first external address', (node) => addressOf(node, 'ExternalIP'))),
  wide(textColumn('OS-Image', 'The operating system image', (node) => node.status.nodeInfo.osImage || '<unknown>')),
  wide(textColumn('Kernel-Version', 'The kernel', (node) => node.status.nodeInfo.kernelVersion || '<unknown>')),
  wide(
    textColumn('Container-Runtime', 'The container runtime', (node) => {
      return node.status.nodeInfo.containerRuntimeVersion || '<unknown>';
    }),
  ),
];

function statusOf(node: Readonly<Node>): string {
  const ready = nodeCondition(node, 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (node.spec.unschedulable === true) words.push('SchedulingDisabled');
  const fenced = nodeCondition(node, FENCED)?.status;
  if (fenced === 'Unknown') words.push('Fencing');
  if (fenced === 'True') words.push('Fenced');
  if (isSelfFenced(node)) words.push('SelfFenced');
  return words.join(',');
}

function rolesOf(node: Readonly<Node>): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) roles.add(key.slice(ROLE_PREFIX.length));
    else if (key === 'kubernetes.io/role' && value !== '') roles.add(value);
  }
  return roles.size === 0 ? NONE : [...roles].sort().join(',');
}

const addressOf = (node: Readonly<Node>, type: string): string =>
  node.status.addresses?.find((address) => address.type === type)?.address ?? NONE;
