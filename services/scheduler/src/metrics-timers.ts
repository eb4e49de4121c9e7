import type { Histogram } from '@holdfast/platform';
import { type ExtensionTimer, type PluginTimer, type StepStatus, succeeded } from './framework/timing.ts';
import { NODE_CALLS_TIMED_MAX } from './limits.ts';

type Series = (seconds: number) => void;

/** Series by measured step and status, looked up once. */
function keptSeries(create: (name: string, status: StepStatus) => Series) {
  const known = new Map<string, Map<StepStatus, Series>>();
  return (name: string, status: StepStatus): Series => {
    const byStatus = known.get(name) ?? new Map<StepStatus, Series>();
    const series = byStatus.get(status) ?? create(name, status);
    if (byStatus.size === 0) known.set(name, byStatus);
    byStatus.set(status, series);
    return series;
  };
}

export function createExtensionTimer(points: Histogram, profile: string, nowMs: () => number): ExtensionTimer {
  const seriesOf = keptSeries((point, status) => points.series([point, profile, status]));
  return (point, run, statusOf = succeeded) => {
    const startedMs = nowMs();
    let status: StepStatus = 'Error';
    try {
      const result = run();
      status = statusOf(result);
      return result;
    } finally {
      seriesOf(point, status)((nowMs() - startedMs) / 1_000);
    }
  };
}

export function createPluginTimer(calls: Histogram, nowMs: () => number): PluginTimer {
  const seriesAt = new Map<string, ReturnType<typeof keptSeries>>();
  const seriesOf = (point: string, plugin: string, status: StepStatus): Series => {
    const known = seriesAt.get(point) ?? keptSeries((name, ended) => calls.series([point, name, ended]));
    seriesAt.set(point, known);
    return known(plugin, status);
  };
  const run: PluginTimer['run'] = ({ plugin, point, statusOf }, call) => {
    const startedMs = nowMs();
    const result = call();
    const seconds = (nowMs() - startedMs) / 1_000;
    seriesOf(point, plugin, statusOf(result))(seconds);
    return result;
  };
  return {
    run,
    few: (about, call, among) => {
      for (const each of among.slice(0, NODE_CALLS_TIMED_MAX)) run(about, () => call(each));
    },
  };
}
