import type { HPAScalingPolicy, HPAScalingRules } from '@holdfast/api';
import type { Memory, ScaleEvent } from './memory.ts';

/** Without a behavior an autoscaler at most doubles, but may always reach this many. */
const FREE_REPLICAS = 4;

export const scaleUpLimit = (current: number): number => Math.max(2 * current, FREE_REPLICAS);

/** The most pods that the rules allow now; what was added and taken away meanwhile is reckoned back. */
export function upLimitOf(current: number, rules: HPAScalingRules, memory: Memory, nowMs: number): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const proposals = (rules.policies ?? []).map((policy) => {
    const start = startOf(policy, current, memory, nowMs);
    return policy.type === 'Percent' ? Math.ceil(start * (1 + policy.value / 100)) : start + policy.value;
  });
  const limit = rules.selectPolicy === 'Min' ? Math.min(...proposals) : Math.max(...proposals);
  return Math.max(limit, current);
}

/** The fewest pods that the rules allow now. */
export function downLimitOf(current: number, rules: HPAScalingRules, memory: Memory, nowMs: number): number {
  if (rules.selectPolicy === 'Disabled') return current;
  const proposals = (rules.policies ?? []).map((policy) => {
    const start = startOf(policy, current, memory, nowMs);
    return policy.type === 'Percent' ? Math.trunc(start * (1 - policy.value / 100)) : start - policy.value;
  });
  const limit = rules.selectPolicy === 'Min' ? Math.max(...proposals) : Math.min(...proposals);
  return Math.min(limit, current);
}

/** Returns the number of pods at the beginning of the policy's period. */
function startOf({ periodSeconds }: HPAScalingPolicy, current: number, memory: Memory, nowMs: number): number {
  const changed = (events: readonly ScaleEvent[]): number =>
    events.reduce((sum, { atMs, replicas }) => (atMs > nowMs - periodSeconds * 1000 ? sum + replicas : sum), 0);
  return current - changed(memory.ups) + changed(memory.downs);
}
