import { labelText, type MetricRegistry } from '@holdfast/platform';
import type { Asked } from './framework/asked.ts';

/** Values that are read on each scrape. */
export interface SchedulerGauges {
  readonly pending: () => Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>>;
  readonly unschedulableByPlugin: () => Iterable<readonly [plugin: string, profile: string, pods: number]>;
  readonly cacheSizes: () => Readonly<Record<string, number>>;
  /** Events in the queue, and lost events. */
  readonly events: () => { readonly waiting: number; readonly dropped: number };
  /** Changes of the cluster during the current decision. */
  readonly inFlightEvents: () => Iterable<readonly [event: string, count: number]>;
  readonly asked: () => Iterable<readonly [profile: string, plugin: string, asked: Asked]>;
  /** Bindings in progress. */
  readonly bindings: () => number;
  /** `undefined` without leader election. */
  readonly isLeader: () => boolean | undefined;
}

type Values = readonly (readonly [labels: string, value: number])[];

export function addGauges(registry: MetricRegistry, gauges: SchedulerGauges): void {
  const { pending, unschedulableByPlugin, events, isLeader } = gauges;
  registry.gauge('scheduler_pending_pods', 'Pods that wait, by queue.', () => labelled('queue', pending()));
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
  registry.gauge('leader_election_master_status', 'Whether this one leads.', () => {
    const leads = isLeader();
    return leads === undefined ? [] : [['name="kube-scheduler"', Number(leads)]];
  });
  addWork(registry, gauges);
}

function addWork(registry: MetricRegistry, { cacheSizes, inFlightEvents, asked, bindings }: SchedulerGauges): void {
  const sizes = 'Nodes, pods and assumed pods in the cache.';
  // Kubernetes 1.32 uses both names, later versions one.
  for (const name of ['scheduler_cache_size', 'scheduler_scheduler_cache_size']) {
    registry.gauge(name, sizes, () => labelled('type', cacheSizes()));
  }
  registry.gauge('scheduler_goroutines', 'Work under way, by kind.', () => [['operation="binding"', bindings()]]);
  registry.gauge('scheduler_inflight_events', 'Changes that came while a decision is under way.', () =>
    Array.from(inFlightEvents(), ([event, count]) => [labelText(['event'], [event]), count]),
  );
  registry.counted('scheduler_plugin_evaluation_total', 'Number of plugin calls.', () =>
    [...asked()].flatMap(([profile, plugin, counts]) => evaluations(profile, plugin, counts)),
  );
}

const evaluations = (profile: string, plugin: string, { preFilter, filter, preScore, score }: Asked): Values =>
  Object.entries({ PreFilter: preFilter, Filter: filter, PreScore: preScore, Score: score }).flatMap(
    ([point, count]) =>
      count === 0 ? [] : [[labelText(['extension_point', 'plugin', 'profile'], [point, plugin, profile]), count]],
  );

const labelled = (label: string, values: Readonly<Record<string, number>>): Values =>
  Object.entries(values).map(([value, count]) => [labelText([label], [value]), count]);
