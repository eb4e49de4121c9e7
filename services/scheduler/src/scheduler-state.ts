import type { Pod } from '@holdfast/api';
import { Causes } from '@holdfast/client';
import { defaultConfiguration, type SchedulerConfiguration } from './configuration/configuration.ts';
import { ClusterCache } from './domain/cluster-cache.ts';
import { type PodInfo, placedOn } from './domain/pod-info.ts';
import { PodQueue } from './domain/pod-queue.ts';
import type { Asked } from './framework/asked.ts';
import { buildProfile } from './framework/build-profile.ts';
import type { EventKind, EventSubjects, Queueable } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import { DEFAULT_SCHEDULER_NAME } from './limits.ts';
import { createSchedulerMetrics, type SchedulerMetrics } from './metrics.ts';
import type { SchedulerGauges } from './metrics-gauges.ts';
import { Recorders } from './recorders.ts';
import { Refusals } from './refusals.ts';
import type { SchedulerDeps } from './scheduler-deps.ts';

/** The shared state of a scheduler's parts: the cluster, pending pods, and the profiles. */
export class SchedulerState {
  readonly deps: SchedulerDeps;
  readonly configuration: SchedulerConfiguration;
  readonly cache = new ClusterCache();
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly queue: PodQueue;
  readonly recorders: Recorders;
  readonly refusals = new Refusals();
  readonly metrics: SchedulerMetrics;
  /** With tracing on, what asked for each pending pod. */
  readonly causes: Causes | undefined;
  /** The parts that know the lease and the bindings replace these. */
  outside: Pick<SchedulerGauges, 'bindings' | 'isLeader'> = { bindings: () => 0, isLeader: () => undefined };
  readonly totals = { decisions: 0, bound: 0, refused: 0, unconfirmed: 0, preemptions: 0 };
  #onWork: (() => void) | undefined;

  constructor(deps: SchedulerDeps) {
    this.deps = deps;
    this.causes = deps.tracer === undefined ? undefined : new Causes(deps.tracer);
    this.configuration = deps.configuration ?? defaultConfiguration();
    this.profiles = this.#buildProfiles();
    this.recorders = new Recorders(deps, this.profiles.keys());
    this.metrics = this.#createMetrics();
    this.queue = this.#createQueue();
  }

  profileOf(pod: Pod): Profile | undefined {
    return this.profiles.get(pod.spec.schedulerName ?? DEFAULT_SCHEDULER_NAME);
  }

  /** The cluster changed in a way that may help a pending pod. */
  note<K extends EventKind>(kind: K, about: EventSubjects[K]): void {
    this.queue.note(kind, about, this.deps.clock.monotonic());
    this.wake();
  }

  /** Promises a waiting pod the room on a node; none any more when the name is empty. */
  nominate(pod: PodInfo, nodeName: string): void {
    const before = this.cache.nominationOf(pod);
    if (nodeName === '') this.cache.nominations.clear(pod.uid);
    else this.cache.nominations.set(pod, nodeName);
    this.#freed(pod, before, nodeName);
  }

  /** The pod gets this node: it needs no promise any more. */
  endNomination(pod: PodInfo, nodeName: string): void {
    const before = this.cache.nominationOf(pod);
    this.cache.nominations.clear(pod.uid);
    this.#freed(pod, before, nodeName);
  }

  wake(): void {
    this.#onWork?.();
  }

  /** Called on the next `wake`; `undefined` when nothing sleeps. */
  onWork(callback: (() => void) | undefined): void {
    this.#onWork = callback;
  }

  /** Promised room that the pod does not take is free for others, as if the pod had left that node. */
  #freed(pod: PodInfo, promised: string, nodeName: string): void {
    if (promised !== '' && promised !== nodeName) this.note('pod-removed', placedOn(pod, promised));
  }

  #buildProfiles(): ReadonlyMap<string, Profile> {
    const { client, clock, log, podPriority = true } = this.deps;
    const { profiles, extenders } = this.configuration;
    const ignoredResources = new Set(extenders.flatMap(({ ignoredByScheduler }) => [...ignoredByScheduler]));
    const handle = { client, clock, log, volumes: this.cache.volumes, cluster: this.cache, ignoredResources };
    return new Map(
      profiles.map((choice) => {
        const profile = buildProfile(choice, handle);
        const used = podPriority ? profile : { ...profile, compare: byArrival, postFilters: [] };
        return [choice.schedulerName, used];
      }),
    );
  }

  #createQueue(): PodQueue {
    const [first] = this.profiles.values();
    return new PodQueue({
      compare: first?.compare ?? byArrival,
      hintsOf: ({ pod }, plugin) => this.profileOf(pod)?.hints.get(plugin),
      backoff: this.configuration.backoff,
      onIncoming: (queue, event) => this.metrics.incoming(queue, event),
      timeHint: (plugin, event, ask) => this.#timeHint(plugin, event, ask),
    });
  }

  #timeHint(plugin: string, event: string, ask: () => boolean): boolean {
    const { clock } = this.deps;
    const startedMs = clock.monotonic();
    const helps = ask();
    this.metrics.hint(plugin, event, helps, (clock.monotonic() - startedMs) / 1_000);
    return helps;
  }

  *#asked(): Generator<readonly [profile: string, plugin: string, asked: Asked]> {
    for (const [name, { asked }] of this.profiles) for (const [plugin, counts] of asked) yield [name, plugin, counts];
  }

  #createMetrics(): SchedulerMetrics {
    return createSchedulerMetrics({
      pending: () => {
        const { active, backoff, unschedulable, gated } = this.queue.counts();
        return { active, backoff, unschedulable, gated };
      },
      unschedulableByPlugin: () => this.queue.unschedulableByPlugin(),
      inFlightEvents: () => this.queue.eventsInFlight(),
      asked: () => this.#asked(),
      bindings: () => this.outside.bindings(),
      isLeader: () => this.outside.isLeader(),
      cacheSizes: () => this.cache.sizes(),
      events: () => this.recorders.counts(),
    });
  }
}

const byArrival = (a: Queueable, b: Queueable): number => a.order - b.order;
