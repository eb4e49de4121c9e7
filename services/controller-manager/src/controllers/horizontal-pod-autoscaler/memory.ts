import type { HorizontalPodAutoscalerBehavior, HPAScalingRules } from '@holdfast/api';

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

/** This many pods were added or removed. */
export interface ScaleEvent {
  readonly replicas: number;
  readonly atMs: number;
}

/**
 * The known history of one autoscaler, on the process's own monotonic clock. A new process knows only the current
 * number of pods. That number is its first recommendation, so it removes none before a whole window has passed.
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

/** Only policies need the history: without a behavior nothing is recorded. */
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
