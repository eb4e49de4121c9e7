import { CPU_RATE_KEPT_MS, CPU_RATE_WINDOW_MS } from '../limits.ts';
import type { NodeSample } from './port.ts';

const MS_PER_SECOND = 1_000;

interface Point {
  readonly at: number;
  readonly cpuNanoseconds: number;
}

/** Computes the current usage in billionths of a core from total usage at different times. */
export interface CpuRates {
  observe(sample: NodeSample): void;
  /** For the machine, or one container of a pod; absent before the second sample. */
  rate(key: string): number | undefined;
}

export const MACHINE = 'machine';
export const containerKey = (uid: string, container: string): string => `${uid}/${container}`;

/** A rate begins with the start of what it is about, so that there is one at the first look. */
export function createCpuRates(): CpuRates {
  let series = new Map<string, readonly Point[]>();
  return {
    observe: ({ at, machine, pods }) => {
      const next = new Map<string, readonly Point[]>();
      const add = (key: string, cpuNanoseconds: number | undefined, startedAt: number | undefined): void => {
        if (cpuNanoseconds === undefined) return;
        const start = startedAt === undefined ? [] : [{ at: startedAt, cpuNanoseconds: 0 }];
        next.set(key, extended(series.get(key) ?? start, { at, cpuNanoseconds }, start));
      };
      add(MACHINE, machine.cpuNanoseconds, machine.bootedAt);
      for (const { pod, containers } of pods)
        for (const { name, cpuNanoseconds, startedAt } of containers)
          add(containerKey(pod.metadata.uid ?? '', name), cpuNanoseconds, startedAt);
      series = next;
    },
    rate: (key) => rateOf(series.get(key) ?? []),
  };
}

/** A decreased counter belongs to a new life, which has its own start; a clock that was set back also starts again. */
function extended(before: readonly Point[], point: Point, start: readonly Point[]): readonly Point[] {
  const last = before.at(-1);
  if (last !== undefined && last.at > point.at) return [point];
  if (last !== undefined && last.cpuNanoseconds > point.cpuNanoseconds)
    return [...start.filter(({ at }) => at >= last.at), point];
  if (last?.at === point.at) return before;
  const recent = before.filter(({ at }, index) => index === before.length - 1 || point.at - at <= CPU_RATE_KEPT_MS);
  return [...recent, point];
}

/** Over the shortest stretch that is long enough to mean something. */
function rateOf(points: readonly Point[]): number | undefined {
  const last = points.at(-1);
  const earlier = points.slice(0, -1);
  const from = earlier.findLast(({ at }) => last !== undefined && last.at - at >= CPU_RATE_WINDOW_MS) ?? earlier[0];
  if (last === undefined || from === undefined || last.at <= from.at) return undefined;
  return Math.round(((last.cpuNanoseconds - from.cpuNanoseconds) * MS_PER_SECOND) / (last.at - from.at));
}
