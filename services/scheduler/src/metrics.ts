import { type Histogram, labelText, MetricRegistry } from '@holdfast/platform';
import type { ExtensionTimer } from './framework/timing.ts';

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

/** What is read when somebody asks. */
export interface SchedulerGauges {
  readonly pending: () => Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>>;
  readonly unschedulableByPlugin: () => Iterable<readonly [plugin: string, profile: string, pods: number]>;
  readonly cacheSizes: () => Readonly<Record<string, number>>;
  /** Events that are not written, and those that never will be. */
  readonly events: () => { readonly waiting: number; readonly dropped: number };
}

export interface SchedulerMetrics {
  attempt(profile: string, result: AttemptResult, seconds: number): void;
  algorithm(seconds: number): void;
  bound(attempts: number, seconds: number): void;
  incoming(queue: string, event: string): void;
  preemption(victims: number): void;
  preemptionTried(): void;
  /** Measures the steps of decisions for one profile. */
  timer(profile: string, nowMs: () => number): ExtensionTimer;
  render(): string;
}

const SECONDS = buckets(0.001, 2, 15);
const POINT_SECONDS = buckets(0.0001, 2, 12);
const SLI_SECONDS = buckets(0.01, 2, 20);
const ATTEMPTS = buckets(1, 2, 5);
const VICTIMS = buckets(1, 2, 7);
/** Pods that needed more tries share a series. */
const ATTEMPTS_NAMED_MAX = 15;

/** What is measured, under the names that dashboards for kube-scheduler ask for. */
export function createSchedulerMetrics(gauges: SchedulerGauges): SchedulerMetrics {
  const registry = new MetricRegistry();
  addGauges(registry, gauges);
  const attempts = registry.counter('scheduler_schedule_attempts_total', 'Attempts to schedule pods, by result.', [
    'profile',
    'result',
  ]);
  const attemptSeconds = registry.histogram(
    'scheduler_scheduling_attempt_duration_seconds',
    'Time of an attempt: decision and binding.',
    { labelNames: ['profile', 'result'], buckets: SECONDS },
  );
  const algorithm = registry.histogram('scheduler_scheduling_algorithm_duration_seconds', 'Time of a decision.', {
    labelNames: [],
    buckets: SECONDS,
  });
  const sli = registry.histogram(
    'scheduler_pod_scheduling_sli_duration_seconds',
    'From the first sight of a pod to its binding, over all attempts.',
    { labelNames: ['attempts'], buckets: SLI_SECONDS },
  );
  const podAttempts = registry.histogram('scheduler_pod_scheduling_attempts', 'Attempts until a pod was bound.', {
    labelNames: [],
    buckets: ATTEMPTS,
  });
  const points = registry.histogram(
    'scheduler_framework_extension_point_duration_seconds',
    'Time of all plugins of an extension point in one decision.',
    { labelNames: ['extension_point', 'profile', 'status'], buckets: POINT_SECONDS },
  );
  const incoming = registry.counter('scheduler_queue_incoming_pods_total', 'Pods that entered a queue, by event.', [
    'event',
    'queue',
  ]);
  const tried = registry.counter('scheduler_preemption_attempts_total', 'Attempts to make room by preemption.', []);
  const victims = registry.histogram('scheduler_preemption_victims', 'Pods chosen to make room.', {
    labelNames: [],
    buckets: VICTIMS,
  });
  return {
    attempt: (profile, result, seconds) => {
      attempts.add([profile, result]);
      attemptSeconds.observe([profile, result], seconds);
    },
    algorithm: algorithm.series([]),
    bound: (count, seconds) => {
      podAttempts.observe([], count);
      sli.observe([count > ATTEMPTS_NAMED_MAX ? `${ATTEMPTS_NAMED_MAX}+` : String(count)], seconds);
    },
    incoming: (queue, event) => incoming.add([event, queue]),
    preemption: (count) => victims.observe([], count),
    preemptionTried: () => tried.add([]),
    timer: (profile, nowMs) => createTimer(points, profile, nowMs),
    render: () => registry.render(),
  };
}

interface PointSeries {
  readonly success: (seconds: number) => void;
  readonly error: (seconds: number) => void;
}

function createTimer(points: Histogram, profile: string, nowMs: () => number): ExtensionTimer {
  const known = new Map<string, PointSeries>();
  const seriesOf = (point: string): PointSeries => {
    const series = known.get(point) ?? {
      success: points.series([point, profile, 'Success']),
      error: points.series([point, profile, 'Error']),
    };
    known.set(point, series);
    return series;
  };
  return (point, run) => {
    const startedMs = nowMs();
    const { success, error } = seriesOf(point);
    let ended = error;
    try {
      const result = run();
      ended = success;
      return result;
    } finally {
      ended((nowMs() - startedMs) / 1_000);
    }
  };
}

function addGauges(
  registry: MetricRegistry,
  { pending, unschedulableByPlugin, cacheSizes, events }: SchedulerGauges,
): void {
  registry.gauge('scheduler_pending_pods', 'Pods that wait, by queue.', () =>
    Object.entries(pending()).map(([queue, pods]) => [`queue="${queue}"`, pods]),
  );
  registry.gauge('scheduler_unschedulable_pods', 'Pods that a plugin keeps waiting.', () =>
    Array.from(unschedulableByPlugin(), ([plugin, profile, pods]) => [
      labelText(['plugin', 'profile'], [plugin, profile]),
      pods,
    ]),
  );
  registry.gauge('scheduler_events_waiting', 'Events that are not written yet.', () => [['', events().waiting]]);
  registry.gauge(
    'scheduler_events_dropped',
    'Events that were given up: too many, spam, or refused by the API.',
    () => [['', events().dropped]],
  );
  registry.gauge('scheduler_cache_size', 'Nodes, pods and assumed pods in the cache.', () =>
    Object.entries(cacheSizes()).map(([type, size]) => [`type="${type}"`, size]),
  );
}

function buckets(first: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}
