import {
  isPodFinished,
  type Node,
  type PersistentVolume,
  type Pod,
  type PodDisruptionBudget,
  UNREACHABLE_TAINT,
} from '@holdfast/api';
import { compileLabelSelector } from '@holdfast/machinery';
import type { AgentConfig, FenceRule, FencerConfiguration } from '../configuration/configuration.ts';
import { isAttachedTo, isServedBy } from './storage.ts';

export interface PolicyInput {
  readonly node: Node;
  /** The pods on the node. */
  readonly pods: readonly Pod[];
  readonly volumes: readonly PersistentVolume[];
  readonly budgets: readonly PodDisruptionBudget[];
}

export type Verdict =
  | { readonly kind: 'never'; readonly why: string }
  | { readonly kind: 'fence'; readonly agent: AgentConfig; readonly waitSeconds: number; readonly why: string };

/**
 * Decides whether a partition of this node justifies a fence, and after which time. A pod's toleration is the
 * disruption that its author accepts; an exhausted budget is the disruption that it already suffered. The first
 * matching rule of a pod counts, and of all pods the one with the shortest wait. Without a matching rule a node is
 * never fenced.
 */
export function judge(config: FencerConfiguration, input: PolicyInput): Verdict {
  const wishes = input.pods.filter(isRunning).flatMap((pod) => wishOf(config, input, pod));
  const [first] = wishes.toSorted((a, b) => a.waitSeconds - b.waitSeconds);
  if (first === undefined) return { kind: 'never', why: 'no rule matches a pod of the node' };
  if (first.waitSeconds === Number.POSITIVE_INFINITY) return { kind: 'never', why: `${first.why}, for ever` };
  return { kind: 'fence', ...first };
}

interface Wish {
  readonly agent: AgentConfig;
  readonly waitSeconds: number;
  readonly why: string;
}

function wishOf(config: FencerConfiguration, input: PolicyInput, pod: Pod): readonly Wish[] {
  for (const rule of config.rules) {
    const agent = config.agents.find(({ name }) => name === rule.agent);
    if (agent === undefined || !isMet(rule, pod) || !reaches(agent, input, pod)) continue;
    const { metadata, spec } = pod;
    const isExhausted = input.budgets.some((budget) => isExhaustedFor(budget, pod));
    const patience = rule.afterSeconds ?? toleratedSeconds(pod);
    const waitSeconds = isExhausted ? Math.min(patience, rule.whenExhaustedSeconds) : patience;
    const budget = isExhausted ? ', whose disruption budget is exhausted,' : '';
    const why = `rule ${rule.name}: pod ${metadata.namespace}/${metadata.name} (priority ${spec.priority ?? 0})${budget} waits ${waitSeconds} s`;
    return [{ agent, waitSeconds, why }];
  }
  return [];
}

const isMet = ({ pods, namespaces, minPriority }: FenceRule, { metadata, spec }: Pod): boolean =>
  pods.matches(metadata.labels) &&
  (namespaces.length === 0 || namespaces.includes(metadata.namespace ?? '')) &&
  (spec.priority ?? 0) >= minPriority;

/** A storage fence helps only pods that have a volume there. */
function reaches(agent: AgentConfig, { node, volumes }: PolicyInput, { metadata }: Pod): boolean {
  if (!agent.nodes.matches(node.metadata.labels)) return false;
  if (agent.scope === 'node') return true;
  return volumes.some(
    (volume) =>
      isAttachedTo(volume, node) &&
      isServedBy(volume, agent.servers) &&
      (volume.status.attachment?.pods ?? []).some(({ uid }) => uid === metadata.uid),
  );
}

const isRunning = (pod: Pod): boolean => !isPodFinished(pod);

/** Returns how long the pod tolerates an unreachable node. */
export function toleratedSeconds({ spec }: Pod): number {
  const own = (spec.tolerations ?? []).filter(
    ({ key, operator, effect }) =>
      ((key ?? '') === '' ? operator === 'Exists' : key === UNREACHABLE_TAINT) &&
      ((effect ?? '') === '' || effect === 'NoExecute'),
  );
  if (own.length === 0) return 0;
  return Math.min(...own.map(({ tolerationSeconds }) => Math.max(0, tolerationSeconds ?? Number.POSITIVE_INFINITY)));
}

/** A budget that the disruption controller has not processed yet also has 0, without a meaning. */
const isExhaustedFor = ({ metadata, spec, status }: PodDisruptionBudget, pod: Pod): boolean =>
  metadata.namespace === pod.metadata.namespace &&
  status.disruptionsAllowed === 0 &&
  (status.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
  spec.selector !== undefined &&
  compileLabelSelector(spec.selector).matches(pod.metadata.labels);
