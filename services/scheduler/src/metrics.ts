import { MetricRegistry } from '@holdfast/platform';
import type { ExtensionTimer, PluginTimer, StepStatus } from './framework/timing.ts';
import { addGauges, type SchedulerGauges } from './metrics-gauges.ts';
import { createExtensionTimer, createPluginTimer } from './metrics-timers.ts';

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

export interface SchedulerMetrics {
  attempt(profile: string, result: AttemptResult, seconds: number): void;
  algorithm(seconds: number): void;
  bound(attempts: number, seconds: number): void;
  incoming(queue: string, event: string): void;
  preemption(victims: number): void;
  preemptionTried(): void;
  /** A wait for Permit plugins. */
  permitWait(result: 'Success' | 'Unschedulable', seconds: number): void;
  /** The result of a queueing hint. */
  hint(plugin: string, event: string, helps: boolean, seconds: number): void;
  /** For events of one name. */
  eventHandled(event: string): (seconds: number) => void;
  /** An awaited step. */
  step(profile: string, point: string, status: StepStatus, seconds: number): void;
  /** Measures the steps of decisions for one profile. */
  timer(profile: string, nowMs: () => number): ExtensionTimer;
  /** Measures plugin calls. */
  pluginTimer(nowMs: () => number): PluginTimer;
  render(): string;
}

const SECONDS = buckets(0.001, 2, 15);
const POINT_SECONDS = buckets(0.0001, 2, 12);
const PLUGIN_SECONDS = buckets(0.00001, 1.5, 20);
const SLI_SECONDS = buckets(0.01, 2, 20);
const ATTEMPTS = buckets(1, 2, 5);
const VICTIMS = buckets(1, 2, 7);
/** Pods with this many attempts or more share a series. */
const ATTEMPTS_NAMED_MAX = 15;

/** Metrics with the names that kube-scheduler dashboards use. */
export function createSchedulerMetrics(gauges: SchedulerGauges): SchedulerMetrics {
  const registry = new MetricRegistry();
  addGauges(registry, gauges);
  const points = registry.histogram(
    'scheduler_framework_extension_point_duration_seconds',
    'Time of all plugins of an extension point in one decision.',
    { labelNames: ['extension_point', 'profile', 'status'], buckets: POINT_SECONDS },
  );
  const plugins = registry.histogram(
    'scheduler_plugin_execution_duration_seconds',
    'Time of one call of a plugin, in some of the decisions.',
    { labelNames: ['extension_point', 'plugin', 'status'], buckets: PLUGIN_SECONDS },
  );
  return {
    ...ofAttempts(registry),
    ...ofPreemption(registry),
    ...ofQueue(registry),
    ...ofPermit(registry),
    step: (profile, point, status, seconds) => points.observe([point, profile, status], seconds),
    timer: (profile, nowMs) => createExtensionTimer(points, profile, nowMs),
    pluginTimer: (nowMs) => createPluginTimer(plugins, nowMs),
    render: () => registry.render(),
  };
}

function ofAttempts(registry: MetricRegistry): Pick<SchedulerMetrics, 'attempt' | 'algorithm' | 'bound'> {
  const labelNames = ['profile', 'result'];
  const attempts = registry.counter('scheduler_schedule_attempts_total', 'Attempts to schedule pods.', labelNames);
  const attemptSeconds = registry.histogram(
    'scheduler_scheduling_attempt_duration_seconds',
    'Time of an attempt: decision and binding.',
    { labelNames, buckets: SECONDS },
  );
  const algorithm = registry.histogram('scheduler_scheduling_algorithm_duration_seconds', 'Time of a decision.', {
    labelNames: [],
    buckets: SECONDS,
  });
  const sli = registry.histogram(
    'scheduler_pod_scheduling_sli_duration_seconds',
    'From the first sight of a pod without gates to its binding, over all attempts.',
    { labelNames: ['attempts'], buckets: SLI_SECONDS },
  );
  const podAttempts = registry.histogram('scheduler_pod_scheduling_attempts', 'Attempts until a pod was bound.', {
    labelNames: [],
    buckets: ATTEMPTS,
  });
  return {
    attempt: (profile, result, seconds) => {
      attempts.add([profile, result]);
      attemptSeconds.observe([profile, result], seconds);
    },
    algorithm: algorithm.series([]),
    bound: (count, seconds) => {
      podAttempts.observe([], count);
      sli.observe([count >= ATTEMPTS_NAMED_MAX ? `${ATTEMPTS_NAMED_MAX}+` : String(count)], seconds);
    },
  };
}

function ofPreemption(registry: MetricRegistry): Pick<SchedulerMetrics, 'preemption' | 'preemptionTried'> {
  const tried = registry.counter('scheduler_preemption_attempts_total', 'Attempts to make room by preemption.', []);
  const victims = registry.histogram('scheduler_preemption_victims', 'Pods chosen to make room.', {
    labelNames: [],
    buckets: VICTIMS,
  });
  return { preemption: (count) => victims.observe([], count), preemptionTried: () => tried.add([]) };
}

function ofQueue(registry: MetricRegistry): Pick<SchedulerMetrics, 'incoming' | 'hint' | 'eventHandled'> {
  const incoming = registry.counter('scheduler_queue_incoming_pods_total', 'Pods that entered a queue, by event.', [
    'event',
    'queue',
  ]);
  const hints = registry.histogram(
    'scheduler_queueing_hint_execution_duration_seconds',
    'Time in which a plugin says whether an event may help a pod, for a tenth of the questions.',
    { labelNames: ['event', 'hint', 'plugin'], buckets: PLUGIN_SECONDS },
  );
  const events = registry.histogram(
    'scheduler_event_handling_duration_seconds',
    'Time in which a change of the cluster is taken in, for a tenth of them.',
    { labelNames: ['event'], buckets: POINT_SECONDS },
  );
  return {
    incoming: (queue, event) => incoming.add([event, queue]),
    hint: (plugin, event, helps, seconds) => hints.observe([event, helps ? 'Queue' : 'QueueSkip', plugin], seconds),
    eventHandled: (event) => events.series([event]),
  };
}

function ofPermit(registry: MetricRegistry): Pick<SchedulerMetrics, 'permitWait'> {
  const waits = registry.histogram('scheduler_permit_wait_duration_seconds', 'Time that Permit plugins kept a pod.', {
    labelNames: ['result'],
    buckets: SECONDS,
  });
  return { permitWait: (result, seconds) => waits.observe([result], seconds) };
}

function buckets(first: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}
