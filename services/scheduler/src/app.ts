import { createLeaderElector, type LeaderElector } from '@holdfast/client';
import type { PlacementReport } from '@holdfast/client/why';
import type { Service } from '@holdfast/platform';
import { Bindings } from './adapters/binding.ts';
import { type CacheComparison, compareCache } from './adapters/cache-comparer.ts';
import { Evictor } from './adapters/evictor.ts';
import { Extender } from './adapters/extender.ts';
import { createExtenderPost } from './adapters/extender-post.ts';
import { PodWriter } from './adapters/pod-writer.ts';
import { BindingResults } from './binding-results.ts';
import { ClusterFeed } from './cluster-feed.ts';
import { shownConfiguration } from './configuration/shown.ts';
import { DecideLoop } from './decide-loop.ts';
import { Decider } from './decider.ts';
import { createEventTiming } from './event-timing.ts';
import { DEFAULT_SCHEDULER_NAME } from './limits.ts';
import { Outcomes } from './outcomes.ts';
import { renderPodResources } from './pod-resources.ts';
import type { SchedulerDeps } from './scheduler-deps.ts';
import { SchedulerState } from './scheduler-state.ts';
import { SeenPods } from './seen-pods.ts';

export interface Scheduler extends Service {
  counters(): SchedulerCounters;
  /** In Prometheus text format. */
  metrics(): string;
  /** The resources of pods, in the same format. */
  resourceMetrics(): string;
  /** The effective configuration. */
  shownConfiguration(): unknown;
  /** Why it has no node for a pod that waits for one; `undefined` when it has not refused the pod. */
  placementOf(namespace: string, name: string): PlacementReport | undefined;
  /** Compares the scheduler's cache with the API. */
  compareCache(): Promise<CacheComparison>;
  /** True when the first lists are complete. */
  isReady(): boolean;
  /** Empty when it schedules, or would as leader; otherwise sentences about what is wrong. */
  health(): readonly string[];
}

export interface SchedulerCounters {
  readonly decisions: number;
  readonly bound: number;
  readonly refused: number;
  /** Bindings without a plain confirmation. */
  readonly unconfirmed: number;
  readonly preemptions: number;
  readonly assumed: number;
  readonly queue: Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated' | 'in-flight', number>>;
}

export function createScheduler(deps: SchedulerDeps): Scheduler {
  return new RunningScheduler(deps);
}

class RunningScheduler implements Scheduler {
  readonly name = 'scheduler';
  readonly #deps: SchedulerDeps;
  readonly #state: SchedulerState;
  readonly #feed: ClusterFeed;
  readonly #writer: PodWriter;
  readonly #evictor: Evictor;
  readonly #bindings: Bindings;
  readonly #loop: DecideLoop;
  readonly #elector: LeaderElector | undefined;
  readonly #stopping = new AbortController();
  #loops: readonly Promise<void>[] = [];
  #ready = false;

  constructor(deps: SchedulerDeps) {
    const { client, bus, clock, random, log, tracer } = deps;
    this.#deps = deps;
    const state = new SchedulerState(deps);
    this.#state = state;
    const { cache, metrics, recorders } = state;
    const post = deps.post ?? createExtenderPost(clock);
    const extenders = state.configuration.extenders.map((config) => new Extender(config, post));
    const pods = new SeenPods(state);
    this.#writer = new PodWriter({ client, clock, log });
    this.#evictor = new Evictor({ client, clock, log, recorders });
    this.#feed = new ClusterFeed({
      client,
      bus,
      clock,
      random,
      log,
      cache,
      note: (kind, about) => state.note(kind, about),
      onPod: (change) => pods.changed(change),
      timed: createEventTiming(metrics, () => clock.monotonic()),
    });
    const budgets = () => this.#feed.budgets();
    const decider = new Decider({ cache, metrics, extenders, clock, random, log, budgets });
    const parts = { state, pods, decider, writer: this.#writer, evictor: this.#evictor };
    const outcomes = new Outcomes(parts);
    const results = new BindingResults({ ...parts, outcomes });
    this.#bindings = new Bindings(
      { client, recorders, metrics, extenders, clock, random, log, tracer, causes: state.causes },
      results,
    );
    this.#elector = deps.leaderElection === true ? this.#createElector() : undefined;
    state.outside = { bindings: () => this.#bindings.underWay(), isLeader: () => this.#elector?.isLeader() };
    this.#loop = new DecideLoop({
      ...parts,
      outcomes,
      bindings: this.#bindings,
      mayDecide: () => this.#elector?.isLeader() ?? true,
      signal: this.#stopping.signal,
    });
  }

  counters(): SchedulerCounters {
    const { totals, cache, queue } = this.#state;
    return { ...totals, assumed: cache.assumptions(), queue: queue.counts() };
  }

  metrics(): string {
    return this.#state.metrics.render();
  }

  resourceMetrics(): string {
    const { cache, queue } = this.#state;
    // Pods that are being bound are in both.
    const waiting = [...queue.pods()].filter(({ uid }) => cache.placed(uid) === undefined);
    return renderPodResources([...cache.placedPods(), ...waiting].map(({ pod }) => pod));
  }

  shownConfiguration(): unknown {
    return shownConfiguration(this.#state.configuration, this.#elector !== undefined);
  }

  placementOf(namespace: string, name: string): PlacementReport | undefined {
    const pod = this.#state.queue.named(`${namespace}/${name}`);
    return pod === undefined ? undefined : this.#state.refusals.reportOf(pod);
  }

  compareCache(): Promise<CacheComparison> {
    return compareCache(this.#deps.client, this.#state.cache);
  }

  isReady(): boolean {
    return this.#ready;
  }

  health(): readonly string[] {
    return this.#ready ? (this.#elector?.problems() ?? []) : ['the first lists are not complete'];
  }

  async start(): Promise<void> {
    if (this.#loops.length > 0) return;
    await this.#feed.start();
    await this.#elector?.start();
    this.#loops = [this.#decide(), this.#loop.checkAssumptions()];
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the scheduler is stopping'));
    this.#state.wake();
    await this.#feed.stop();
    await this.#elector?.stop();
    await Promise.all([this.#bindings.stop(), this.#state.recorders.stop()]);
    await Promise.all(this.#loops);
    await Promise.all([this.#writer.idle(), this.#evictor.idle()]);
  }

  async #decide(): Promise<void> {
    await this.#feed.synced().catch(() => {});
    this.#ready = !this.#stopping.signal.aborted;
    await this.#loop.run();
  }

  #createElector(): LeaderElector {
    const { client, clock, random, log, ids } = this.#deps;
    const { lease, leaderElect: _asked, ...times } = this.#state.configuration.leaderElection;
    const [name = DEFAULT_SCHEDULER_NAME] = this.#state.profiles.keys();
    return createLeaderElector({
      client,
      lease,
      ...times,
      identity: `${name}_${ids.uuid()}`,
      clock,
      random,
      log,
      onStartedLeading: () => this.#state.wake(),
      onStoppedLeading: () => {},
    });
  }
}
