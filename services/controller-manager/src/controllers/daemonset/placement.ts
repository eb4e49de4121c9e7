import {
  compileRequiredNodes,
  DISK_PRESSURE_TAINT,
  firstUntolerated,
  HARD_EFFECTS,
  isReleasedFrom,
  MEMORY_PRESSURE_TAINT,
  NETWORK_UNAVAILABLE_TAINT,
  NOT_READY_TAINT,
  type Node,
  type NodeTest,
  PID_PRESSURE_TAINT,
  type Pod,
  type PodTemplateSpec,
  type Toleration,
  UNREACHABLE_TAINT,
  UNSCHEDULABLE_TAINT,
} from '@holdfast/api';
import { nameOf } from '../../common/meta.ts';

/** The tolerations of every daemon pod: it stays on the node in bad times, too. */
const DAEMON_TOLERATIONS: readonly Toleration[] = [
  { key: NOT_READY_TAINT, operator: 'Exists', effect: 'NoExecute' },
  { key: UNREACHABLE_TAINT, operator: 'Exists', effect: 'NoExecute' },
  { key: DISK_PRESSURE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
  { key: MEMORY_PRESSURE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
  { key: PID_PRESSURE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
  { key: UNSCHEDULABLE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK_TOLERATION: Toleration = {
  key: NETWORK_UNAVAILABLE_TAINT,
  operator: 'Exists',
  effect: 'NoSchedule',
};

export function daemonTolerations(template: PodTemplateSpec): readonly Toleration[] {
  const own = template.spec.tolerations ?? [];
  const extra =
    template.spec.hostNetwork === true ? [...DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION] : DAEMON_TOLERATIONS;
  const isOwn = ({ key, effect }: Toleration): boolean => own.some((t) => t.key === key && t.effect === effect);
  return [...own, ...extra.filter((toleration) => !isOwn(toleration))];
}

export interface Placement {
  /** A daemon pod belongs on the node. */
  readonly shouldRun: boolean;
  /** An existing pod may stay: a NoSchedule taint does not evict it. */
  readonly mayStay: boolean;
  /** A new pod would be released immediately and repeatedly: the node must first make a new promise. */
  readonly isFenced: boolean;
}

export function placementOn(template: PodTemplateSpec, node: Node): Placement {
  if (!isSelected(template, node)) return { shouldRun: false, mayStay: false, isFenced: false };
  const tolerations = daemonTolerations(template);
  const taints = node.spec.taints ?? [];
  const mayStay = firstUntolerated(taints, tolerations, ['NoExecute']) === undefined;
  const shouldRun = firstUntolerated(taints, tolerations, HARD_EFFECTS) === undefined;
  const pod = { metadata: template.metadata ?? {}, spec: template.spec };
  return { shouldRun, mayStay, isFenced: isReleasedFrom(node, pod) };
}

function isSelected(template: PodTemplateSpec, node: Node): boolean {
  const { nodeName = '' } = template.spec;
  if (nodeName !== '' && nodeName !== nameOf(node)) return false;
  return requiredNodes(template)?.({ name: nameOf(node), labels: node.metadata.labels ?? {} }) !== false;
}

/** Compiled once for all nodes: a template of the cache never changes. */
const compiled = new WeakMap<PodTemplateSpec, { readonly test: NodeTest | undefined }>();

function requiredNodes(template: PodTemplateSpec): NodeTest | undefined {
  const known = compiled.get(template) ?? { test: compileRequiredNodes(template) };
  compiled.set(template, known);
  return known.test;
}

/** Returns the affinity that restricts a pod to one node for every scheduler. */
export function pinnedTo(template: PodTemplateSpec, node: string): NonNullable<PodTemplateSpec['spec']['affinity']> {
  const affinity = template.spec.affinity ?? {};
  const required = {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
  };
  return {
    ...affinity,
    nodeAffinity: { ...affinity.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required },
  };
}

/** The node a daemon pod is on or was made for. */
export function targetNode(pod: Pod): string | undefined {
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.flatMap(({ matchFields = [] }) => matchFields).find(({ key }) => key === 'metadata.name')?.values?.[0];
}
