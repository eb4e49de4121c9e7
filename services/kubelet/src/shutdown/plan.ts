import type { Pod } from '@holdfast/api';
import { OperatorError } from '@holdfast/platform';
import { SYSTEM_CRITICAL_PRIORITY } from '../eviction/critical.ts';

/** The grace period of pods from this priority on when the node shuts down. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

export interface ShutdownFlags {
  readonly gracePeriodMs: number;
  readonly criticalPodsMs: number;
  /** `100000=10,0=60`; instead of the two others. */
  readonly gracePeriodByPodPriority: string;
}

/** In the order of their shutdown. None: pods continue to run when the kubelet stops. */
export function readShutdownPeriods(flags: ShutdownFlags): readonly ShutdownPeriod[] {
  const { gracePeriodMs: whole, criticalPodsMs: critical } = flags;
  if (critical > whole)
    throw bad('--shutdown-grace-period-critical-pods must not be more than --shutdown-grace-period');
  if (flags.gracePeriodByPodPriority === '') {
    if (whole === 0) return [];
    const seconds = [whole - critical, critical].map((ms) => Math.floor(ms / 1000));
    return [0, SYSTEM_CRITICAL_PRIORITY].map((priority, index) => ({ priority, seconds: seconds[index] ?? 0 }));
  }
  if (whole > 0) throw bad('--shutdown-grace-period-by-pod-priority takes the place of --shutdown-grace-period');
  return flags.gracePeriodByPodPriority
    .split(',')
    .map((part) => {
      const [priority, seconds] = /^\s*(-?\d+)=(\d+)\s*$/.exec(part)?.slice(1).map(Number) ?? [];
      if (priority === undefined || seconds === undefined) throw bad(`"${part}" is not written as priority=seconds`);
      return { priority, seconds };
    })
    .toSorted((a, b) => a.priority - b.priority);
}

const bad = (message: string): OperatorError =>
  new OperatorError({
    code: 'BadSetting',
    message,
    nextStep: 'Write for example --shutdown-grace-period=30s --shutdown-grace-period-critical-pods=10s.',
    exitCode: 2,
  });

export interface ShutdownGroup {
  readonly seconds: number;
  readonly pods: readonly { readonly pod: Pod; readonly graceSeconds: number }[];
}

/** The least important first; a pod below every period is of the first. Nobody gets more than its own grace. */
export function planShutdown(pods: readonly Pod[], periods: readonly ShutdownPeriod[]): readonly ShutdownGroup[] {
  const groups = periods.map(({ seconds }) => ({ seconds, pods: [] as { pod: Pod; graceSeconds: number }[] }));
  for (const pod of pods) {
    const priority = pod.spec.priority ?? 0;
    const index = Math.max(
      0,
      periods.findLastIndex((each) => each.priority <= priority),
    );
    const group = groups[index];
    const own = pod.spec.terminationGracePeriodSeconds ?? group?.seconds ?? 0;
    group?.pods.push({ pod, graceSeconds: Math.max(1, Math.min(own, group.seconds)) });
  }
  return groups.filter((group) => group.pods.length > 0);
}
