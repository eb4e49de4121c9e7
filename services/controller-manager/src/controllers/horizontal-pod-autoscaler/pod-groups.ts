import { hasPodFailed, type Pod, podCondition } from '@holdfast/api';
import { isTerminating, nameOf, timeOf } from '../../common/meta.ts';
import type { AutoscalingSettings } from './settings.ts';

/** The measurement of one pod, in thousandths. */
export interface Sample {
  readonly value: number;
  readonly takenAtMs: number;
  readonly windowMs: number;
}

export interface PodGroups {
  /** Names of pods whose measurement counts. */
  readonly ready: readonly string[];
  /** Not started yet, or measured before the regular load. */
  readonly unready: readonly string[];
  /** Running, but without a measurement. */
  readonly missing: readonly string[];
}

/** Pods that end or have failed are in none of the groups. */
export function groupPods(
  pods: readonly Pod[],
  samples: ReadonlyMap<string, Sample>,
  of: { readonly resource: string; readonly now: number; readonly settings: AutoscalingSettings },
): PodGroups {
  const groups = { ready: [] as string[], unready: [] as string[], missing: [] as string[] };
  for (const pod of pods) {
    if (isTerminating(pod) || hasPodFailed(pod)) continue;
    const name = nameOf(pod);
    const sample = samples.get(name);
    if (pod.status.phase === 'Pending') groups.unready.push(name);
    else if (sample === undefined) groups.missing.push(name);
    else if (of.resource === 'cpu' && isStarting(pod, sample, of)) groups.unready.push(name);
    else groups.ready.push(name);
  }
  return groups;
}

/** The cpu usage of a starting pod differs from its later usage, so its measurement does not count. */
function isStarting(
  pod: Pod,
  sample: Sample,
  { now, settings }: { readonly now: number; readonly settings: AutoscalingSettings },
): boolean {
  const ready = podCondition(pod, 'Ready');
  if (ready === undefined || pod.status.startTime === undefined) return true;
  const startedAt = timeOf(pod.status.startTime);
  const changedAt = timeOf(ready.lastTransitionTime);
  if (startedAt + settings.cpuInitializationMs > now) {
    return ready.status === 'False' || sample.takenAtMs < changedAt + sample.windowMs;
  }
  return ready.status === 'False' && startedAt + settings.initialReadinessDelayMs > changedAt;
}
