import {
  NAMESPACES,
  type Namespace,
  NODES,
  type Node,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
} from '@holdfast/api';
import type { Bus } from '@holdfast/bus';
import {
  type ApiClient,
  createEventRecorder,
  createInformer,
  createLeaderElector,
  type Informer,
  type InformerChange,
  type LeaderElector,
  type RunningEventRecorder,
} from '@holdfast/client';
import type { Clock, Ids, Log, Random, Service } from '@holdfast/platform';
import { Bindings } from './adapters/binding.ts';
import { Evictor } from './adapters/evictor.ts';
import { PodWriter } from './adapters/pod-writer.ts';
import { ClusterCache, isFinished } from './domain/cluster-cache.ts';
import { fitMessage, NO_NODES } from './domain/fit-message.ts';
import { createPodInfo, type PodInfo } from './domain/pod-info.ts';
import { PodQueue } from './domain/pod-queue.ts';
import { type Preemption, preempt } from './domain/preemption.ts';
import { type Refusal, schedule } from './domain/schedule.ts';
import type { ClusterEvent, Plugin } from './framework/plugin.ts';
import { retryTable } from './framework/retry-table.ts';
import { ASSUMPTION_CHECK_INTERVAL_MS, ASSUMPTION_MAX_MS, DECISIONS_PER_TURN } from './limits.ts';
import { createDefaultBinder } from './plugins/default-binder.ts';
import { createDefaultPlugins } from './plugins/registry.ts';

export interface SchedulerDeps {
  /** Carries the scheduler's identity. */
  readonly client: ApiClient;
  readonly bus?: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  /** Pods that name this scheduler are ours. */
  readonly schedulerName?: string;
  /** With it only one of several schedulers works; without it all do, and the API decides who bound first. */
  readonly leaderElection?: boolean;
  readonly plugins?: readonly Plugin[];
}

export interface Scheduler extends Service {
  counters(): SchedulerCounters;
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
  readonly #schedulerName: string;
  readonly #plugins: readonly Plugin[];
  readonly #cache = new ClusterCache();
  readonly #queue: PodQueue;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #namespaces: Informer<Namespace>;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #recorder: RunningEventRecorder;
  readonly #writer: PodWriter;
  readonly #evictor: Evictor;
  readonly #bindings: Bindings;
  readonly #elector: LeaderElector | undefined;
  readonly #stopping = new AbortController();
  readonly #totals = { decisions: 0, bound: 0, refused: 0, unconfirmed: 0, preemptions: 0 };
  #loops: readonly Promise<void>[] = [];
  #wake: (() => void) | undefined;
  #startAt = 0;

  constructor(deps: SchedulerDeps) {
    const { client, bus, clock, random, ids, log } = deps;
    this.#deps = deps;
    this.#schedulerName = deps.schedulerName ?? DEFAULT_SCHEDULER_NAME;
    this.#plugins = deps.plugins ?? createDefaultPlugins();
    this.#queue = new PodQueue(retryTable(this.#plugins));
    const common = { client, bus, clock, random, log };
    this.#pods = createInformer({ ...common, resource: PODS });
    this.#nodes = createInformer({ ...common, resource: NODES });
    this.#namespaces = createInformer({ ...common, resource: NAMESPACES });
    this.#budgets = createInformer({ ...common, resource: POD_DISRUPTION_BUDGETS });
    this.#recorder = createEventRecorder({ client, component: this.#schedulerName, clock, ids, log });
    this.#writer = new PodWriter({ client, clock, log });
    const recorder = this.#recorder;
    this.#evictor = new Evictor({ client, clock, log, recorder, schedulerName: this.#schedulerName });
    this.#bindings = new Bindings(
      { client, binder: createDefaultBinder(client), recorder: this.#recorder, clock, random, log },
      {
        onBound: (pod) => this.#onBound(pod),
        onObserved: (pod, current) => this.#onObserved(pod, current),
      },
    );
    this.#elector = deps.leaderElection === true ? this.#createElector() : undefined;
    this.#listen();
  }

  counters(): SchedulerCounters {
    return { ...this.#totals, assumed: this.#cache.assumptions(), queue: this.#queue.counts() };
  }

  async start(): Promise<void> {
    if (this.#loops.length > 0) return;
    const parts: readonly (Service | undefined)[] = [this.#nodes, this.#namespaces, this.#pods, this.#elector];
    for (const part of [...parts, this.#budgets]) await part?.start();
    this.#loops = [this.#decideLoop(), this.#assumptionLoop()];
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the scheduler is stopping'));
    this.#wake?.();
    await Promise.all([this.#nodes.stop(), this.#namespaces.stop(), this.#pods.stop(), this.#budgets.stop()]);
    await this.#elector?.stop();
    await Promise.all([this.#bindings.stop(), this.#recorder.stop()]);
    await Promise.all(this.#loops);
    await Promise.all([this.#writer.idle(), this.#evictor.idle()]);
  }

  #createElector(): LeaderElector {
    const { client, clock, random, log, ids } = this.#deps;
    return createLeaderElector({
      client,
      lease: { namespace: 'kube-system', name: 'kube-scheduler' },
      identity: `${this.#schedulerName}_${ids.uuid()}`,
      clock,
      random,
      log,
      onStartedLeading: () => this.#wake?.(),
      onStoppedLeading: () => {},
    });
  }

  #listen(): void {
    this.#nodes.onChange(({ object, old }) => {
      if (object !== undefined) this.#note(this.#cache.setNode(object));
      else if (old !== undefined) this.#cache.removeNode(old.metadata.name ?? '');
    });
    this.#namespaces.onChange(({ object, old }) => {
      if (object !== undefined) this.#cache.setNamespace(object);
      else if (old !== undefined) this.#cache.removeNamespace(old.metadata.name ?? '');
    });
    this.#pods.onChange((change) => this.#podChanged(change));
  }

  #podChanged({ object, old }: InformerChange<Pod>): void {
    const before = old?.metadata.uid;
    if (before !== undefined && before !== object?.metadata.uid) this.#podGone(before);
    if (object !== undefined) this.#podSeen(object);
  }

  #podSeen(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (isFinished(pod)) {
      this.#podGone(uid);
    } else if ((pod.spec.nodeName ?? '') !== '') {
      this.#queue.delete(uid);
      this.#cache.unnominate(uid);
      this.#note(this.#cache.setPod(createPodInfo(pod)));
    } else if (!this.#cache.isPlaced(uid)) this.#podWaits(createPodInfo(pod));
  }

  #podWaits(pod: PodInfo): void {
    if (pod.terminating || (pod.pod.spec.schedulerName ?? DEFAULT_SCHEDULER_NAME) !== this.#schedulerName) {
      this.#queue.delete(pod.uid);
      return;
    }
    // A nomination of ours may be newer than the status seen here: only a status that names a node replaces it.
    const nominated = pod.pod.status.nominatedNodeName ?? '';
    if (nominated !== '') this.#cache.nominate(pod, nominated);
    const gated = this.#plugins.some((plugin) => plugin.gate?.(pod) !== undefined);
    this.#queue.upsert(pod, gated, this.#deps.clock.monotonic());
    this.#wake?.();
  }

  #podGone(uid: string): void {
    this.#queue.delete(uid);
    this.#cache.unnominate(uid);
    if (this.#cache.removePod(uid)) this.#note('pod-removed');
  }

  #note(event: ClusterEvent | undefined): void {
    if (event === undefined) return;
    this.#queue.note(event, this.#deps.clock.monotonic());
    this.#wake?.();
  }

  async #decideLoop(): Promise<void> {
    const { signal } = this.#stopping;
    // Budgets are honoured as far as they are known (PREEMPT-16): they hold nobody up.
    const caches = [this.#nodes, this.#namespaces, this.#pods];
    await Promise.all(caches.map((each) => each.synced())).catch(() => {});
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
      this.#decide(next.pod, next.seen);
    }
    return decided;
  }

  #decide(pod: PodInfo, seen: number): void {
    this.#totals.decisions++;
    const { random } = this.#deps;
    const decision = schedule(this.#cache, pod, { plugins: this.#plugins, random, startAt: this.#startAt });
    if (decision.kind === 'refuse') {
      this.#refuse(pod, decision, seen);
      return;
    }
    this.#startAt = (this.#startAt + decision.looked) % this.#cache.nodes.length;
    this.#cache.unnominate(pod.uid);
    this.#cache.assume(pod, decision.nodeName);
    this.#queue.note('pod-placed', this.#deps.clock.monotonic());
    this.#bindings.start(pod, decision.nodeName);
  }

  #refuse(pod: PodInfo, refusal: Refusal, seen: number): void {
    this.#totals.refused++;
    this.#queue.unschedulable(pod.uid, refusal.plugins, { seen, nowMs: this.#deps.clock.monotonic() });
    const fit = fitMessage(this.#cache.nodes.length, refusal.rejections.values());
    const preemption = preempt(this.#cache, pod, refusal, {
      plugins: this.#plugins,
      budgets: this.#budgets.list(),
      random: this.#deps.random,
    });
    const told = preemption.kind === 'none' ? `${fit} ${preemption.message}` : fit;
    const message = this.#cache.nodes.length === 0 ? NO_NODES : told;
    this.#writer.unschedulable(pod, message, this.#nominationAfter(pod, preemption));
    this.#recorder.event(pod.pod, { type: 'Warning', reason: 'FailedScheduling', message });
  }

  /** The node to nominate the pod for, `null` to take a nomination back, `undefined` to leave it as it is. */
  #nominationAfter(pod: PodInfo, preemption: Preemption): string | null | undefined {
    if (preemption.kind === 'preempt') {
      this.#totals.preemptions++;
      // What less important pods were promised there is given to this one.
      for (const other of this.#cache.nominatedOn(preemption.nodeName)) {
        if (other.priority < pod.priority) this.#takeNominationBack(other);
      }
      this.#cache.nominate(pod, preemption.nodeName);
      this.#evictor.evict(pod, preemption);
      return preemption.nodeName;
    }
    if (preemption.keeps || this.#cache.nominationOf(pod) === '') return undefined;
    this.#cache.unnominate(pod.uid);
    return null;
  }

  #takeNominationBack(pod: PodInfo): void {
    this.#cache.unnominate(pod.uid);
    this.#writer.nominate(pod, null);
  }

  #onBound(pod: PodInfo): void {
    this.#totals.bound++;
    this.#queue.delete(pod.uid);
    this.#cache.bindingAnswered(pod.uid, this.#deps.clock.monotonic());
  }

  /** What the API says now replaces what was assumed. */
  #onObserved(pod: PodInfo, current: Pod | undefined): void {
    this.#totals.unconfirmed++;
    if (current === undefined) {
      this.#podGone(pod.uid);
      return;
    }
    if ((current.spec.nodeName ?? '') === '' && this.#cache.forget(pod.uid)) {
      const nowMs = this.#deps.clock.monotonic();
      this.#queue.upsert(pod, false, nowMs);
      this.#queue.backOff(pod.uid, nowMs);
      this.#note('pod-removed');
    }
    this.#podSeen(current);
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
