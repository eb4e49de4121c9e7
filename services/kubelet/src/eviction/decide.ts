import type { PodSample } from '../stats/port.ts';
import { rank } from './rank.ts';
import { type Measure, type Measures, type PressureCondition, SIGNALS } from './signals.ts';
import { type EvictionConfig, limitOf, type Threshold } from './thresholds.ts';

export interface EvictionMemory {
  /** The time since which a threshold has been met without interruption, by its key. */
  readonly metSince: Readonly<Record<string, number>>;
  /** When a condition was last observed. */
  readonly seenAt: Readonly<Partial<Record<PressureCondition, number>>>;
  /** Met for their whole grace, and not yet resolved with what has to be reclaimed. */
  readonly acting: readonly string[];
}

export const INITIAL_EVICTION_MEMORY: EvictionMemory = { metSince: {}, seenAt: {}, acting: [] };

export interface EvictionDecision {
  readonly memory: EvictionMemory;
  readonly conditions: readonly PressureCondition[];
  /** What to free, and the pods to evict in this order until one eviction succeeds. */
  readonly relief: Relief | undefined;
}

export interface Relief {
  readonly threshold: Threshold;
  readonly measure: Measure;
  readonly candidates: readonly PodSample[];
}

/** `now` is monotonic. */
export function decideEviction(
  { thresholds, transitionMs }: EvictionConfig,
  observed: { readonly measures: Measures; readonly pods: readonly PodSample[]; readonly now: number },
  memory: EvictionMemory,
): EvictionDecision {
  const { measures, pods, now } = observed;
  const met = thresholds.filter((each) => isMet(each, measures, memory.acting.includes(keyOf(each))));
  const metSince = Object.fromEntries(met.map((each) => [keyOf(each), memory.metSince[keyOf(each)] ?? now]));
  const seen = new Set(met.map(({ signal }) => SIGNALS[signal].condition));
  const seenAt = { ...memory.seenAt, ...Object.fromEntries([...seen].map((each) => [each, now])) };
  const conditions = CONDITIONS.filter((each) => {
    const at = seenAt[each];
    return at !== undefined && (seen.has(each) || now - at < transitionMs);
  });
  const acting = met.filter((each) => now - (metSince[keyOf(each)] ?? now) >= each.graceMs);
  return {
    memory: { metSince, seenAt, acting: acting.map(keyOf) },
    conditions,
    relief: reliefOf(acting, measures, pods),
  };
}

const CONDITIONS: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

const keyOf = ({ signal, kind }: Threshold): string => `${kind} ${signal}`;

/** A threshold that caused an action stays met until the minimum reclaim is free again. */
function isMet({ signal, limit, minimumReclaim }: Threshold, measures: Measures, isActing: boolean): boolean {
  const measure = measures[signal];
  if (measure === undefined) return false;
  const more = isActing && minimumReclaim !== undefined ? limitOf(minimumReclaim, measure.capacity) : 0;
  return measure.available < limitOf(limit, measure.capacity) + more;
}

/** Memory first: of that a machine dies soonest. */
function reliefOf(acting: readonly Threshold[], measures: Measures, pods: readonly PodSample[]): Relief | undefined {
  const first = acting.toSorted((a, b) => urgency(a) - urgency(b))[0];
  const measure = first === undefined ? undefined : measures[first.signal];
  if (first === undefined || measure === undefined) return undefined;
  return { threshold: first, measure, candidates: rank(pods, SIGNALS[first.signal].resource) };
}

/** The hard threshold of a signal is more urgent: it gives less time. */
const urgency = ({ signal, kind }: Threshold): number =>
  (SIGNALS[signal].resource === 'memory' ? 0 : 2) + (kind === 'hard' ? 0 : 1);
