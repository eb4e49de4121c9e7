import type { HorizontalPodAutoscalerBehavior } from '@holdfast/api';
import { downLimitOf, scaleUpLimit, upLimitOf } from './limits-of-change.ts';
import { type Memory, withRecommendation } from './memory.ts';

export interface Wish {
  readonly current: number;
  /** The recommendation of the metrics. */
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  readonly nowMs: number;
  readonly downscaleStabilizationMs: number;
}

export interface Said {
  readonly reason: string;
  readonly message: string;
}

export interface Normalized {
  readonly replicas: number;
  readonly memory: Memory;
  readonly stabilized: Said;
  readonly limited: Said & { readonly status: 'True' | 'False' };
}

interface Windows {
  readonly upMs: number;
  readonly downMs: number;
}

/** Limits a recommendation by the stabilization windows, the policies and the bounds. */
export function normalize(wish: Wish, memory: Memory): Normalized {
  const windows = windowsOf(wish);
  const stable = stabilize(wish, memory, windows);
  const { replicas, ...said } =
    wish.behavior === undefined ? plainLimits(wish, stable) : ruledLimits(wish, stable, memory);
  const noted = { replicas: wish.desired, atMs: wish.nowMs };
  return {
    replicas,
    memory: withRecommendation(memory, noted, Math.max(windows.upMs, windows.downMs)),
    stabilized: stable === wish.desired ? READY : stabilizedBy(wish),
    limited: { ...said, status: replicas === stable ? 'False' : 'True' },
  };
}

function windowsOf({ behavior, downscaleStabilizationMs }: Wish): Windows {
  const seconds = behavior?.scaleDown?.stabilizationWindowSeconds;
  return {
    upMs: (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000,
    downMs: seconds === undefined ? downscaleStabilizationMs : seconds * 1000,
  };
}

/** Never above the lowest recommendation within one window, never below the highest within the other. */
function stabilize({ current, desired, behavior, nowMs }: Wish, memory: Memory, { upMs, downMs }: Windows): number {
  const within = (windowMs: number): readonly number[] =>
    memory.recommendations.filter(({ atMs }) => atMs > nowMs - windowMs).map(({ replicas }) => replicas);
  const most = Math.max(desired, ...within(downMs));
  if (behavior === undefined) return most;
  const least = Math.min(desired, ...within(upMs));
  return Math.min(Math.max(current, least), most);
}

const READY: Said = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const SCALE_DOWN_STABILIZED: Said = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const SCALE_UP_STABILIZED: Said = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};

const stabilizedBy = ({ behavior, current, desired }: Wish): Said =>
  behavior !== undefined && desired >= current ? SCALE_UP_STABILIZED : SCALE_DOWN_STABILIZED;

const WITHIN_RANGE: Said = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const TOO_MANY: Said = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const TOO_FEW: Said = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const TOO_FAST_UP: Said = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const TOO_FAST_DOWN: Said = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

type Limited = Said & { readonly replicas: number };

function plainLimits({ current, min, max }: Wish, wanted: number): Limited {
  if (wanted < min) return { replicas: min, ...TOO_FEW };
  return atMost(wanted, max, scaleUpLimit(current));
}

function ruledLimits({ current, min, max, behavior, nowMs }: Wish, wanted: number, memory: Memory): Limited {
  if (wanted > current) return atMost(wanted, max, upLimitOf(current, behavior?.scaleUp ?? {}, memory, nowMs));
  if (wanted < current) return atLeast(wanted, min, downLimitOf(current, behavior?.scaleDown ?? {}, memory, nowMs));
  return { replicas: wanted, ...WITHIN_RANGE };
}

/** `limit` is how far one step may go. */
function atMost(wanted: number, max: number, limit: number): Limited {
  const most = Math.min(max, limit);
  if (wanted <= most) return { replicas: wanted, ...WITHIN_RANGE };
  return { replicas: most, ...(max > limit ? TOO_FAST_UP : TOO_MANY) };
}

function atLeast(wanted: number, min: number, limit: number): Limited {
  const fewest = Math.max(min, limit);
  if (wanted >= fewest) return { replicas: wanted, ...WITHIN_RANGE };
  return { replicas: fewest, ...(min < limit ? TOO_FAST_DOWN : TOO_FEW) };
}
