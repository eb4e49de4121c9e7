import type { Pod } from '@holdfast/api';
import type { Bus } from '@holdfast/bus';
import {
  type ApiClient,
  createEventRecorder,
  createLeaderElector,
  type InformerChange,
  type LeaderElector,
  type RunningEventRecorder,
} from '@holdfast/client';
import type { Clock, Ids, Log, Random, Service, Tracer } from '@holdfast/platform';
import { Bindings, type Placed } from './adapters/binding.ts';
import { type CacheComparison, compareCache } from './adapters/cache-comparer.ts';
import { Evictor } from './adapters/evictor.ts';
import { Extender, type Post } from './adapters/extender.ts';
import { createExtenderPost } from './adapters/extender-post.ts';
import { PodWriter } from './adapters/pod-writer.ts';
import { ClusterFeed } from './cluster-feed.ts';
import { defaultConfiguration, type SchedulerConfiguration } from './configuration/configuration.ts';
import { Decider, type Outcome, type Refused } from './decider.ts';
import { ClusterCache, isFinished } from './domain/cluster-cache.ts';
import { type PodInfo, refreshPodInfo } from './domain/pod-info.ts';
import { PodQueue, type Popped } from './domain/pod-queue.ts';
import { buildProfile } from './framework/build-profile.ts';
import type { EventKind, EventSubjects, Queueable } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import { ASSUMPTION_CHECK_INTERVAL_MS, ASSUMPTION_MAX_MS, DECISIONS_PER_TURN } from './limits.ts';
import { createSchedulerMetrics, type SchedulerMetrics } from './metrics.ts';

export interface SchedulerDeps {
  /** Carries the scheduler's identity. */
  readonly client: ApiClient;
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  /** Pods that name one of its profiles are ours. */
  readonly configuration?: SchedulerConfiguration;
  /** With it only one of several schedulers works; without it all do, and the API decides who bound first. */
  readonly leaderElection?: boolean;
  /** False: priorities neither order pods nor make room (the feature gate PodPriority). */
  readonly podPriority?: boolean;
  /** How extenders are asked; the default is HTTP. */
  readonly post?: Post;
}

export interface Scheduler extends Service {
  counters(): SchedulerCounters;
  /** In the text format of Prometheus. */
  metrics(): string;
  /** How what the scheduler believes differs from what the API says. */
  compareCache(): Promise<CacheComparison>;
  /** Whether the first lists are complete. */
  isReady(): boolean;
}

export interface SchedulerCounters {
  readonly decisions: number;
  readonly bound: number;
  readonly refused: number;
  /** Bindings that were not plainly confirmed. */
  readonly unconfirmed: number;
  readonly preemptions: number;
  readonly assumed: number;
  readonly queue: Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated' | 'in-flight', number>>;
}

const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

export function createScheduler(deps: SchedulerDeps): Scheduler {
  return new SchedulerLoop(deps);
}

class SchedulerLoop implements Scheduler {
  readonly name = 'scheduler';
  readonly #deps: SchedulerDeps;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #cache = new ClusterCache();
  readonly #queue: PodQueue;
  readonly #feed: ClusterFeed;
  readonly #recorders: ReadonlyMap<string, RunningEventRecorder>;
  readonly #writer: PodWriter;
  readonly #evictor: Evictor;
  readonly #bindings: Bindings;
  readonly #decider: Decider;
  readonly #metrics: SchedulerMetrics;
  readonly #elector: LeaderElector | undefined;
  readonly #stopping = new AbortController();
  readonly #totals = { decisions: 0, bound: 0, refused: 0, unconfirmed: 0, preemptions: 0 };
  #loops: readonly Promise<void>[] = [];
  #wake: (() => void) | undefined;
  #ready = false;

  constructor(deps: SchedulerDeps) {
    const { client, bus, clock, random, log, configuration = defaultConfiguration() } = deps;
    this.#deps = deps;
    const post = deps.post ?? createExtenderPost(clock);
    const extenders = configuration.extenders.map((config) => new Extender(config, post));
    this.#profiles = this.#buildProfiles(configuration);
    this.#metrics = this.#createMetrics();
    this.#queue = this.#createQueue(configuration);
    this.#recorders = this.#createRecorders();
    const recorderOf = (profile: Profile): RunningEventRecorder => this.#recorderOf(profile.schedulerName);
    this.#writer = new PodWriter({ client, clock, log });
    this.#evictor = new Evictor({ client, clock, log, recorderOf });
    this.#feed = new ClusterFeed({
      client,
      bus,
      clock,
      random,
      log,
      cache: this.#cache,
      note: (kind, about) => this.#note(kind, about),
      onPod: (change) => this.#podChanged(change),
    });
    this.#decider = new Decider({
      cache: this.#cache,
      metrics: this.#metrics,
      extenders,
      clock,
      random,
      log,
      budgets: () => this.#feed.budgets(),
    });
    this.#bindings = new Bindings(
      { client, recorderOf, extenders, clock, random, log, tracer: deps.tracer },
      {
        onBound: (placed) => this.#onBound(placed),
        onGivenUp: (placed, why) => this.#onGivenUp(placed, why),
        onObserved: (pod, current) => this.#onObserved(pod, current),
      },
    );
    this.#elector = deps.leaderElection === true ? this.#createElector() : undefined;
  }

  counters(): SchedulerCounters {
    return { ...this.#totals, assumed: this.#cache.assumptions(), queue: this.#queue.counts() };
  }

  metrics(): string {
    return this.#metrics.render();
  }

  compareCache(): Promise<CacheComparison> {
    return compareCache(this.#deps.client, this.#cache);
  }

  isReady(): boolean {
    return this.#ready;
  }

  async start(): Promise<void> {
    if (this.#loops.length > 0) return;
    await this.#feed.start();
    await this.#elector?.start();
    this.#loops = [this.#decideLoop(), this.#assumptionLoop()];
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the scheduler is stopping'));
    this.#wake?.();
    await this.#feed.stop();
    await this.#elector?.stop();
    await Promise.all([this.#bindings.stop(), ...[...this.#recorders.values()].map((each) => each.stop())]);
    await Promise.all(this.#loops);
    await Promise.all([this.#writer.idle(), this.#evictor.idle()]);
  }

  #buildProfiles({ profiles, extenders }: SchedulerConfiguration): ReadonlyMap<string, Profile> {
    const { client, clock, log, podPriority = true } = this.#deps;
    const ignoredResources = new Set(extenders.flatMap(({ ignoredByScheduler }) => [...ignoredByScheduler]));
    const handle = { client, clock, log, volumes: this.#cache.volumes, cluster: this.#cache, ignoredResources };
    return new Map(
      profiles.map((choice) => {
        const profile = buildProfile(choice, handle);
        const used = podPriority ? profile : { ...profile, compare: byArrival, postFilters: [] };
        return [choice.schedulerName, used];
      }),
    );
  }

  #createQueue({ backoff }: SchedulerConfiguration): PodQueue {
    const [first] = this.#profiles.values();
    return new PodQueue({
      compare: first?.compare ?? byArrival,
      hintsOf: ({ pod }, plugin) => this.#profileOf(pod)?.hints.get(plugin),
      backoff,
      onIncoming: (queue, event) => this.#metrics.incoming(queue, event),
    });
  }

  #createMetrics(): SchedulerMetrics {
    return createSchedulerMetrics({
      pending: () => {
        const { active, backoff, unschedulable, gated } = this.#queue.counts();
        return { active, backoff, unschedulable, gated };
      },
      unschedulableByPlugin: () => this.#queue.unschedulableByPlugin(),
      cacheSizes: () => this.#cache.sizes(),
    });
  }

  #createRecorders(): ReadonlyMap<string, RunningEventRecorder> {
    const { client, clock, ids, log } = this.#deps;
    return new Map(
      [...this.#profiles.keys()].map((component) => [
        component,
        createEventRecorder({ client, component, clock, ids, log }),
      ]),
    );
  }

  #recorderOf(schedulerName: string): RunningEventRecorder {
    const recorder = this.#recorders.get(schedulerName);
    if (recorder === undefined) throw new Error(`no profile is called ${schedulerName}`);
    return recorder;
  }

  #createElector(): LeaderElector {
    const { client, clock, random, log, ids } = this.#deps;
    const [name = DEFAULT_SCHEDULER_NAME] = this.#profiles.keys();
    return createLeaderElector({
      client,
      lease: { namespace: 'kube-system', name: 'kube-scheduler' },
      identity: `${name}_${ids.uuid()}`,
      clock,
      random,
      log,
      onStartedLeading: () => this.#wake?.(),
      onStoppedLeading: () => {},
    });
  }

  #profileOf(pod: Pod): Profile | undefined {
    return this.#profiles.get(pod.spec.schedulerName ?? DEFAULT_SCHEDULER_NAME);
  }

  #podChanged({ object, old }: InformerChange<Pod>): void {
    const before = old?.metadata.uid;
    if (before !== undefined && before !== object?.metadata.uid) this.#podGone(before);
    if (object !== undefined) this.#podSeen(object, before === object.metadata.uid ? old : undefined);
  }

  #podSeen(pod: Pod, old?: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (isFinished(pod)) {
      this.#podGone(uid);
    } else if ((pod.spec.nodeName ?? '') !== '') {
      this.#queue.delete(uid);
      this.#cache.nominations.clear(uid);
      const info = refreshPodInfo(this.#cache.placed(uid), pod);
      for (const event of this.#cache.setPod(info)) this.#note(event, info);
    } else if (!this.#cache.isPlaced(uid)) this.#podWaits(pod, old);
  }

  #podWaits(pod: Pod, old: Pod | undefined): void {
    const uid = pod.metadata.uid ?? '';
    const profile = this.#profileOf(pod);
    if (pod.metadata.deletionTimestamp !== undefined || profile === undefined) {
      this.#queue.delete(uid);
      this.#cache.nominations.clear(uid);
      return;
    }
    const info = refreshPodInfo(this.#queue.get(uid), pod);
    this.#followNomination(info, old);
    const gated = profile.preEnqueue.some(({ call }) => call(info) !== undefined);
    this.#queue.upsert(info, gated, this.#deps.clock.monotonic());
    this.#wake?.();
  }

  /** A nomination of ours may be newer than the status seen here: only a change of the status replaces it. */
  #followNomination(pod: PodInfo, old: Pod | undefined): void {
    const nominated = pod.pod.status.nominatedNodeName ?? '';
    const before = old?.status.nominatedNodeName ?? '';
    if (nominated === before) return;
    if (nominated !== '') this.#cache.nominations.set(pod, nominated);
    else if (this.#cache.nominationOf(pod) === before) this.#cache.nominations.clear(pod.uid);
  }

  #podGone(uid: string): void {
    this.#queue.delete(uid);
    this.#cache.nominations.clear(uid);
    const gone = this.#cache.removePod(uid);
    if (gone !== undefined) this.#note('pod-removed', gone);
  }

  #note<K extends EventKind>(kind: K, about: EventSubjects[K]): void {
    this.#queue.note(kind, about, this.#deps.clock.monotonic());
    this.#wake?.();
  }

  async #decideLoop(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#feed.synced().catch(() => {});
    this.#ready = !signal.aborted;
    while (!signal.aborted) {
      const decided = this.#mayDecide() ? await this.#decideSome() : 0;
      // A turn for the event loop between batches; a rest when nothing is left to decide.
      if (decided > 0) await this.#deps.clock.sleep(0, signal).catch(() => {});
      else await this.#rest();
    }
  }

  #mayDecide(): boolean {
    return this.#elector === undefined || this.#elector.isLeader();
  }

  async #decideSome(): Promise<number> {
    this.#queue.tick(this.#deps.clock.monotonic());
    let decided = 0;
    for (; decided < DECISIONS_PER_TURN && !this.#stopping.signal.aborted; decided++) {
      await this.#bindings.place();
      const next = this.#queue.pop();
      if (next === undefined) break;
      await this.#decide(next);
    }
    return decided;
  }

  async #decide(next: Popped): Promise<void> {
    const profile = this.#profileOf(next.pod.pod);
    if (profile === undefined) {
      this.#queue.delete(next.pod.uid);
      return;
    }
    this.#totals.decisions++;
    const startedMs = this.#deps.clock.monotonic();
    const decided = this.#decider.decide(next.pod, profile);
    // Awaiting costs a turn of the queue of promises: only extenders make it necessary.
    const outcome = decided instanceof Promise ? await decided : decided;
    const seconds = (this.#deps.clock.monotonic() - startedMs) / 1_000;
    this.#metrics.algorithm(seconds);
    this.#apply(next, profile, outcome);
    if (outcome.kind === 'place') return;
    this.#metrics.attempt(profile.schedulerName, outcome.kind === 'error' ? 'error' : 'unschedulable', seconds);
  }

  #apply(next: Popped, profile: Profile, outcome: Outcome): void {
    const { pod } = next;
    if (!this.#queue.has(pod.uid)) {
      // Deleted or bound while extenders were asked: nobody has to make room for it any more.
      this.#queue.placed();
      if (outcome.kind === 'place') this.#decider.unreserve(profile, pod, outcome.nodeName);
      return;
    }
    switch (outcome.kind) {
      case 'place':
        this.#place(next, profile, outcome);
        break;
      case 'refuse':
        this.#refuse(pod, profile, outcome);
        break;
      case 'error':
        this.#deps.log.error('a decision failed', { pod: pod.key, error: outcome.message });
        this.#fail(pod, profile, outcome.message);
        break;
    }
  }

  #place(next: Popped, profile: Profile, { nodeName, waits }: Extract<Outcome, { kind: 'place' }>): void {
    const { pod, attempts, addedMs } = next;
    this.#queue.placed();
    this.#cache.nominations.clear(pod.uid);
    this.#cache.assume(pod, nodeName);
    const placed = this.#cache.placed(pod.uid);
    if (placed !== undefined) this.#queue.note('pod-placed', placed, this.#deps.clock.monotonic());
    this.#bindings.start({ pod, nodeName, profile, waits, attempts, addedMs });
  }

  #refuse(pod: PodInfo, profile: Profile, refused: Refused): void {
    this.#totals.refused++;
    this.#queue.unschedulable(pod.uid, refused.plugins, this.#deps.clock.monotonic());
    const { message } = refused;
    this.#writer.notScheduled(pod, { reason: 'Unschedulable', message }, this.#nominationAfter(pod, profile, refused));
    this.#recorderOf(profile.schedulerName).event(pod.pod, { type: 'Warning', reason: 'FailedScheduling', message });
  }

  /** The node to nominate the pod for, `null` to take a nomination back, `undefined` to leave it as it is. */
  #nominationAfter(pod: PodInfo, profile: Profile, { preemption }: Refused): string | null | undefined {
    if (preemption.kind === 'preempt') {
      const { candidate } = preemption;
      this.#totals.preemptions++;
      this.#metrics.preemption(candidate.victims.length);
      // What less important pods were promised there is given to this one.
      for (const other of this.#cache.nominatedOn(candidate.nodeName)) {
        if (other.priority < pod.priority) this.#takeNominationBack(other);
      }
      this.#cache.nominations.set(pod, candidate.nodeName);
      this.#evictor.evict(pod, candidate, profile);
      return candidate.nodeName;
    }
    if (preemption.keeps || this.#cache.nominationOf(pod) === '') return undefined;
    this.#cache.nominations.clear(pod.uid);
    return null;
  }

  #takeNominationBack(pod: PodInfo): void {
    this.#cache.nominations.clear(pod.uid);
    this.#writer.nominate(pod, null);
  }

  #fail(pod: PodInfo, { schedulerName }: Profile, message: string): void {
    if (!this.#queue.has(pod.uid)) return;
    this.#queue.backOff(pod.uid, this.#deps.clock.monotonic());
    this.#writer.notScheduled(pod, { reason: 'SchedulerError', message }, undefined);
    this.#recorderOf(schedulerName).event(pod.pod, { type: 'Warning', reason: 'FailedScheduling', message });
  }

  #onBound({ pod, profile, attempts, addedMs }: Placed): void {
    this.#totals.bound++;
    this.#queue.delete(pod.uid);
    const nowMs = this.#deps.clock.monotonic();
    this.#cache.bindingAnswered(pod.uid, nowMs);
    const seconds = (nowMs - addedMs) / 1_000;
    this.#metrics.attempt(profile.schedulerName, 'scheduled', seconds);
    this.#metrics.bound(attempts, seconds);
  }

  /** Nothing was written that binds the pod: its place is free again. */
  #onGivenUp({ pod, nodeName, profile }: Placed, { message, plugin }: { message: string; plugin?: string }): void {
    this.#decider.unreserve(profile, pod, nodeName);
    this.#forget(pod);
    if (plugin === undefined) {
      this.#metrics.attempt(profile.schedulerName, 'error', 0);
      this.#fail(pod, profile, message);
      return;
    }
    this.#metrics.attempt(profile.schedulerName, 'unschedulable', 0);
    this.#queue.unschedulable(pod.uid, new Set([plugin]), this.#deps.clock.monotonic());
    this.#writer.notScheduled(pod, { reason: 'Unschedulable', message }, undefined);
    this.#recorderOf(profile.schedulerName).event(pod.pod, { type: 'Warning', reason: 'FailedScheduling', message });
  }

  /** What the API says now replaces what was assumed. */
  #onObserved(pod: PodInfo, current: Pod | undefined): void {
    this.#totals.unconfirmed++;
    if (current === undefined || (current.spec.nodeName ?? '') === '') this.#unreserve(pod);
    if (current === undefined) {
      this.#podGone(pod.uid);
      return;
    }
    if ((current.spec.nodeName ?? '') === '' && this.#forget(pod)) {
      const nowMs = this.#deps.clock.monotonic();
      this.#queue.upsert(pod, false, nowMs);
      this.#queue.backOff(pod.uid, nowMs);
    }
    this.#podSeen(current);
  }

  #unreserve(pod: PodInfo): void {
    const profile = this.#profileOf(pod.pod);
    const nodeName = this.#cache.placed(pod.uid)?.nodeName;
    if (profile !== undefined && nodeName !== undefined) this.#decider.unreserve(profile, pod, nodeName);
  }

  #forget(pod: PodInfo): boolean {
    const forgotten = this.#cache.forget(pod.uid);
    if (forgotten !== undefined) this.#note('pod-removed', forgotten);
    return forgotten !== undefined;
  }

  async #assumptionLoop(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(ASSUMPTION_CHECK_INTERVAL_MS, signal).catch(() => {});
      for (const pod of this.#cache.unconfirmed(clock.monotonic() - ASSUMPTION_MAX_MS)) {
        this.#cache.bindingAnswered(pod.uid, clock.monotonic());
        this.#bindings.observe(pod);
      }
    }
  }

  async #rest(): Promise<void> {
    const { clock } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    const dueMs = this.#queue.tick(clock.monotonic());
    this.#wake = resolve;
    if (this.#mayDecide() && this.#queue.hasActive()) resolve();
    const timer = dueMs === undefined ? undefined : clock.timer(dueMs - clock.monotonic(), resolve);
    if (this.#stopping.signal.aborted) resolve();
    await promise;
    this.#wake = undefined;
    timer?.cancel();
  }
}

const byArrival = (a: Queueable, b: Queueable): number => a.order - b.order;
