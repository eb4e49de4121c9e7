import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '@holdfast/api';

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

/** So many pods were added, or taken away. */
export interface ScaleEvent {
  readonly replicas: number;
  readonly atMs: number;
}

/**
 * What is known of one autoscaler's past, on the process' own monotonic clock. A process that starts knows only how many pods there are:
 * that number is its first recommendation, so it takes none away before it has looked for a whole window.
 */
export interface Memory {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

export const firstMemory = (replicas: number, atMs: number): Memory => ({
  recommendations: [{ replicas, atMs }],
  ups: [],
  downs: [],
});

export function withRecommendation(memory: Memory, recommendation: Recommendation, windowMs: number): Memory {
  const kept = memory.recommendations.filter(({ atMs }) => atMs > recommendation.atMs - windowMs);
  return { ...memory, recommendations: [...kept, recommendation] };
}

/** Only policies ask for the past: without a behavior nothing is noted. */
export function withScaleEvent(
  memory: Memory,
  { from, to, atMs }: { readonly from: number; readonly to: number; readonly atMs: number },
  behavior: HorizontalPodAutoscalerBehavior | undefined,
): Memory {
  if (behavior === undefined || from === to) return memory;
  const event = { replicas: Math.abs(to - from), atMs };
  const recent = (events: readonly ScaleEvent[], rules: HPAScalingRules | undefined): readonly ScaleEvent[] =>
    events.filter((each) => each.atMs > atMs - longestPeriodMs(rules));
  return to > from
    ? { ...memory, ups: [...recent(memory.ups, longest(behavior)), event] }
    : { ...memory, downs: [...recent(memory.downs, longest(behavior)), event] };
}

/** Policies of both directions look at both kinds of events. */
const longest = ({ scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior): HPAScalingRules => ({
  policies: [...(scaleUp?.policies ?? []), ...(scaleDown?.policies ?? [])],
});

const longestPeriodMs = (rules: HPAScalingRules | undefined): number =>
  Math.max(0, ...(rules?.policies ?? []).map(({ periodSeconds }) => periodSeconds)) * 1000;
