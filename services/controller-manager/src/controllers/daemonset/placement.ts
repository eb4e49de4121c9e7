import {
  compileNodeTerms,
  type Node,
  type Pod,
  type PodTemplateSpec,
  type Taint,
  type Toleration,
} from '@holdfast/api';
import { hasPairs } from '@holdfast/machinery';
import { nameOf } from '../../common/meta.ts';
import { tolerates } from '../../common/tolerations.ts';

/** What every daemon puts up with: it belongs on the node in bad times too. */
const DAEMON_TOLERATIONS: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK_TOLERATION: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
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
  /** One that is there may stay: a taint that keeps new pods away does not drive this one out. */
  readonly mayStay: boolean;
}

export function placementOn(template: PodTemplateSpec, node: Node): Placement {
  if (!isSelected(template, node)) return { shouldRun: false, mayStay: false };
  const tolerations = daemonTolerations(template);
  const refused = (node.spec.taints ?? []).filter((taint) => !tolerations.some((t) => tolerates(t, taint)));
  const has = (effect: string): boolean => refused.some((taint: Taint) => taint.effect === effect);
  return { shouldRun: !has('NoSchedule') && !has('NoExecute'), mayStay: !has('NoExecute') };
}

function isSelected({ spec }: PodTemplateSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (spec.nodeName !== undefined && spec.nodeName !== '' && spec.nodeName !== nameOf(node)) return false;
  if (!hasPairs(labels, spec.nodeSelector ?? {})) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || compileNodeTerms(required.nodeSelectorTerms)({ name: nameOf(node), labels });
}

/** The affinity that sends a pod to one node and nowhere else, whoever schedules it. */
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
