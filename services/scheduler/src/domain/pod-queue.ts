import { deepEqual } from '@holdfast/machinery';
import { BinaryHeap } from '@holdfast/platform';
import { type EventKind, type EventSubjects, type Hints, helps, type Queueable } from '../framework/plugin.ts';
import {
  DEFAULT_SCHEDULER_NAME,
  POD_BACKOFF_BASE_MS,
  POD_BACKOFF_MAX_MS,
  TIMED_EVERY,
  UNSCHEDULABLE_MAX_MS,
} from '../limits.ts';
import type { PodInfo } from './pod-info.ts';

type State = 'active' | 'backoff' | 'unschedulable' | 'gated' | 'in-flight';

interface Queued extends Queueable {
  pod: PodInfo;
  /** A failed pod queues behind pods that arrived meanwhile. */
  order: number;
  addedMs: number;
  attempts: number;
  state: State;
  sinceMs: number;
  /** Plugins that rejected the pod last; empty when it is unknown what would help. */
  plugins: ReadonlySet<string>;
}

/** A pod that was popped for a decision. */
export interface Popped {
  readonly pod: PodInfo;
  readonly attempts: number;
  /** The time since which the pod has been known without gates. */
  readonly addedMs: number;
}

export interface PodQueueOptions {
  readonly compare: (a: Queueable, b: Queueable) => number;
  /** The hints of a plugin in the pod's profile. */
  readonly hintsOf: (pod: PodInfo, plugin: string) => Hints | undefined;
  readonly backoff?: BackoffLimits;
  /** Called for every pod that enters a queue, with the cause. */
  readonly onIncoming?: (queue: 'active' | 'backoff' | 'unschedulable' | 'gated', event: string) => void;
  /** Calls a queueing hint and measures it; a sample of the calls goes through it. */
  readonly timeHint?: (plugin: string, event: string, ask: () => boolean) => boolean;
}

export interface BackoffLimits {
  readonly baseMs: number;
  readonly maxMs: number;
}

const DEFAULT_BACKOFF: BackoffLimits = { baseMs: POD_BACKOFF_BASE_MS, maxMs: POD_BACKOFF_MAX_MS };

/** Waits for any event. */
const ANY_EVENT = '';

/**
 * Pods that wait for a node, in four states: `active` in the order of the profile; `backoff` until their wait is over;
 * `unschedulable` until an event that one of the rejecting plugins considers helpful, or some minutes; `gated` until
 * their author removes the gates. A pure data structure: the caller passes the time.
 */
export class PodQueue {
  readonly #options: PodQueueOptions;
  readonly #backoff: BackoffLimits;
  readonly #pods = new Map<string, Queued>();
  readonly #active: BinaryHeap<Queued>;
  readonly #inBackoff = new BinaryHeap<Due>((a, b) => a.dueMs < b.dueMs);
  /** In order of arrival, so the first is due first. */
  readonly #unschedulable = new Set<Queued>();
  /** The same by rejecting plugin: an event checks only pods that may wait for it. */
  readonly #byPlugin = new Map<string, Set<Queued>>();
  readonly #counts: Record<State, number> = { active: 0, backoff: 0, unschedulable: 0, gated: 0, 'in-flight': 0 };
  #orders = 0;
  #atWork: AtWork | undefined;
  #hints = 0;

  constructor(options: PodQueueOptions) {
    this.#options = options;
    this.#backoff = options.backoff ?? DEFAULT_BACKOFF;
    this.#active = new BinaryHeap((a, b) => options.compare(a, b) < 0);
  }

  /** A new or changed pod is tried immediately. */
  upsert(pod: PodInfo, gated: boolean, nowMs: number): void {
    const known = this.#pods.get(pod.uid);
    if (known === undefined) {
      this.#insert(pod, gated, nowMs);
      return;
    }
    const rethink = known.state === 'unschedulable' && hasDifferentNeeds(known.pod, pod);
    known.pod = pod;
    if (gated && known.state !== 'in-flight') this.#enter(known, 'gated', POD_UPDATE);
    else if (!gated && known.state === 'gated') {
      if (known.attempts === 0) known.addedMs = nowMs;
      this.#enter(known, 'active', POD_UPDATE);
    } else if (rethink) this.#wake(known, nowMs, POD_UPDATE);
  }

  delete(uid: string): void {
    const known = this.#pods.get(uid);
    if (known === undefined) return;
    this.#pods.delete(uid);
    this.#leave(known);
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  get(uid: string): PodInfo | undefined {
    return this.#pods.get(uid)?.pod;
  }

  /** Walks over all pods: for questions of people. */
  named(key: string): PodInfo | undefined {
    for (const pod of this.pods()) if (pod.key === key) return pod;
    return undefined;
  }

  /** Returns the next pod to decide about. It stays in flight until one of the calls below. */
  pop(): Popped | undefined {
    for (let top = this.#active.pop(); top !== undefined; top = this.#active.pop()) {
      if (this.#pods.get(top.pod.uid) !== top || top.state !== 'active') continue;
      this.#enter(top, 'in-flight', 'Pop');
      top.attempts++;
      this.#atWork = { uid: top.pod.uid, since: [] };
      return { pod: top.pod, attempts: top.attempts, addedMs: top.addedMs };
    }
    return undefined;
  }

  /** The decision is made: from now on events concern only waiting pods. */
  placed(): void {
    this.#atWork = undefined;
  }

  /** No node fits. If an event meanwhile may have changed that, the pod only backs off. */
  unschedulable(uid: string, plugins: ReadonlySet<string>, nowMs: number): void {
    const queued = this.#pods.get(uid);
    const since = this.#endDecision(uid);
    if (queued === undefined || queued.state !== 'in-flight') return;
    queued.plugins = plugins;
    queued.sinceMs = nowMs;
    queued.order = this.#orders++;
    const overtaken = since.some(({ concerns }) => concerns(queued));
    this.#enter(queued, overtaken ? 'backoff' : 'unschedulable', 'ScheduleAttemptFailure');
  }

  /** The attempt failed for another reason than the cluster (a conflict, no response): retries after the back-off. */
  backOff(uid: string, nowMs: number): void {
    this.#endDecision(uid);
    const queued = this.#pods.get(uid);
    if (queued === undefined || queued.state === 'gated') return;
    queued.sinceMs = nowMs;
    queued.order = this.#orders++;
    this.#enter(queued, 'backoff', 'ScheduleAttemptFailure');
  }

  /** The pod's nomination became useless: another attempt may find another node. */
  reconsider(uid: string, nowMs: number): void {
    const queued = this.#pods.get(uid);
    if (queued?.state === 'unschedulable') this.#wake(queued, nowMs, POD_UPDATE);
  }

  /** The cluster changed: requeues the pods that the event may help. A pod makes no room for itself. */
  note<K extends EventKind>(kind: K, about: EventSubjects[K], nowMs: number): void {
    const subject = podUidOf(about);
    const concerns = (queued: Queued): boolean => queued.pod.uid !== subject && this.#concerns(queued, kind, about);
    this.#atWork?.since.push({ event: EVENT_NAMES[kind], concerns });
    for (const [plugin, waiting] of this.#byPlugin) {
      for (const queued of waiting) {
        if (queued.pod.uid === subject) continue;
        const woken = plugin === ANY_EVENT || this.#helps(queued, plugin, { kind, about });
        if (woken) this.#wake(queued, nowMs, EVENT_NAMES[kind]);
      }
    }
  }

  /** Moves due pods. Returns the next due time; `undefined` when no pod waits for time. */
  tick(nowMs: number): number | undefined {
    const backoffMs = this.#tickBackoff(nowMs);
    for (const queued of this.#unschedulable) {
      const dueMs = queued.sinceMs + UNSCHEDULABLE_MAX_MS;
      if (dueMs > nowMs) return backoffMs === undefined ? dueMs : Math.min(backoffMs, dueMs);
      this.#enter(queued, 'active', 'UnschedulableTimeout');
    }
    return backoffMs;
  }

  /** May return true for a pod that was removed meanwhile. */
  hasActive(): boolean {
    return this.#active.size > 0;
  }

  counts(): Readonly<Record<State, number>> {
    return { ...this.#counts };
  }

  *pods(): Generator<PodInfo> {
    for (const { pod } of this.#pods.values()) yield pod;
  }

  /** Events that the current decision could not see, by name. */
  eventsInFlight(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { event } of this.#atWork?.since ?? []) counts.set(event, (counts.get(event) ?? 0) + 1);
    return counts;
  }

  /** The number of pending pods per scheduler and plugin. */
  *unschedulableByPlugin(): Iterable<readonly [plugin: string, schedulerName: string, pods: number]> {
    for (const [plugin, waiting] of this.#byPlugin) {
      if (plugin === ANY_EVENT) continue;
      const pods = new Map<string, number>();
      for (const { pod } of waiting) {
        const { schedulerName = DEFAULT_SCHEDULER_NAME } = pod.pod.spec;
        pods.set(schedulerName, (pods.get(schedulerName) ?? 0) + 1);
      }
      for (const [schedulerName, count] of pods) yield [plugin, schedulerName, count];
    }
  }

  /** Returns the events that overtook the decision about this pod. A binding of another pod may fail during a decision. */
  #endDecision(uid: string): readonly Overtaking[] {
    if (this.#atWork?.uid !== uid) return [];
    const { since } = this.#atWork;
    this.#atWork = undefined;
    return since;
  }

  #insert(pod: PodInfo, gated: boolean, nowMs: number): void {
    const queued: Queued = {
      pod,
      order: this.#orders++,
      addedMs: nowMs,
      attempts: 0,
      state: 'in-flight',
      sinceMs: nowMs,
      plugins: new Set(),
    };
    this.#pods.set(pod.uid, queued);
    this.#counts['in-flight']++;
    this.#enter(queued, gated ? 'gated' : 'active', POD_ADD);
  }

  #tickBackoff(nowMs: number): number | undefined {
    for (let first = this.#inBackoff.peek(); first !== undefined; first = this.#inBackoff.peek()) {
      const { queued, dueMs } = first;
      const stale = queued.state !== 'backoff' || this.#dueAt(queued) !== dueMs || !this.#isCurrent(queued);
      if (!stale && dueMs > nowMs) return dueMs;
      this.#inBackoff.pop();
      if (!stale) this.#enter(queued, 'active', 'BackoffComplete');
    }
    return undefined;
  }

  #isCurrent(queued: Queued): boolean {
    return this.#pods.get(queued.pod.uid) === queued;
  }

  #concerns<K extends EventKind>(queued: Queued, kind: K, about: EventSubjects[K]): boolean {
    if (queued.plugins.size === 0) return true;
    for (const plugin of queued.plugins) if (this.#helps(queued, plugin, { kind, about })) return true;
    return false;
  }

  #helps<K extends EventKind>(
    { pod }: Queued,
    plugin: string,
    { kind, about }: { readonly kind: K; readonly about: EventSubjects[K] },
  ): boolean {
    const { hintsOf, timeHint } = this.#options;
    const hints = hintsOf(pod, plugin);
    if (hints?.[kind] === undefined) return hints === undefined;
    if (timeHint === undefined || this.#hints++ % TIMED_EVERY !== 0) return helps(hints, kind, pod, about);
    return timeHint(plugin, EVENT_NAMES[kind], () => helps(hints, kind, pod, about));
  }

  #wake(queued: Queued, nowMs: number, event: string): void {
    this.#enter(queued, this.#dueAt(queued) <= nowMs ? 'active' : 'backoff', event);
  }

  #dueAt({ sinceMs, attempts }: Queued): number {
    return sinceMs + backoffMs(attempts, this.#backoff);
  }

  #enter(queued: Queued, state: State, event: string): void {
    this.#leave(queued);
    queued.state = state;
    this.#counts[state]++;
    if (state === 'active') this.#active.push(queued);
    if (state === 'backoff') this.#inBackoff.push({ queued, dueMs: this.#dueAt(queued) });
    if (state === 'unschedulable') this.#waitForEvents(queued);
    if (state !== 'in-flight') this.#options.onIncoming?.(state, event);
  }

  #waitForEvents(queued: Queued): void {
    this.#unschedulable.add(queued);
    for (const plugin of pluginsOf(queued)) {
      this.#byPlugin.set(plugin, (this.#byPlugin.get(plugin) ?? new Set<Queued>()).add(queued));
    }
  }

  #leave(queued: Queued): void {
    this.#counts[queued.state]--;
    if (!this.#unschedulable.delete(queued)) return;
    for (const plugin of pluginsOf(queued)) {
      const waiting = this.#byPlugin.get(plugin);
      waiting?.delete(queued);
      if (waiting?.size === 0) this.#byPlugin.delete(plugin);
    }
  }
}

/** The pod that an event is about; `undefined` when it is about something else. */
const podUidOf = (about: EventSubjects[EventKind]): unknown =>
  typeof about === 'object' && 'uid' in about ? about.uid : undefined;

interface Overtaking {
  readonly event: string;
  readonly concerns: (queued: Queued) => boolean;
}

/** The current decision, and the events since it began: it used an older state of the cluster. */
interface AtWork {
  readonly uid: string;
  readonly since: Overtaking[];
}

interface Due {
  readonly queued: Queued;
  readonly dueMs: number;
}

const ANY: readonly string[] = [ANY_EVENT];
const pluginsOf = ({ plugins }: Queued): Iterable<string> => (plugins.size === 0 ? ANY : plugins);

export function backoffMs(attempts: number, { baseMs, maxMs }: BackoffLimits = DEFAULT_BACKOFF): number {
  return attempts === 0 ? 0 : Math.min(baseMs * 2 ** (attempts - 1), maxMs);
}

function hasDifferentNeeds(before: PodInfo, after: PodInfo): boolean {
  return !deepEqual(before.labels, after.labels) || !deepEqual(before.pod.spec, after.pod.spec);
}

const POD_ADD = 'UnschedulablePodAdd';
const POD_UPDATE = 'UnschedulablePodUpdate';

/** Kubernetes' names in metrics. */
const EVENT_NAMES: Readonly<Record<EventKind, string>> = {
  'node-added': 'NodeAdd',
  'node-removed': 'NodeDelete',
  'node-labels': 'NodeUpdateNodeLabel',
  'node-taints': 'NodeUpdateNodeTaint',
  'node-allocatable': 'NodeUpdateNodeAllocatable',
  'node-condition': 'NodeUpdateNodeCondition',
  'pod-placed': 'AssignedPodAdd',
  'pod-removed': 'AssignedPodDelete',
  'pod-labels': 'AssignedPodUpdatePodLabel',
  'pod-smaller': 'AssignedPodUpdatePodScaleDown',
  'claim-changed': 'PersistentVolumeClaimUpdate',
  'volume-changed': 'PersistentVolumeUpdate',
  'class-changed': 'storage.k8s.io/StorageClassAdd',
  'csi-changed': 'storage.k8s.io/CSINodeUpdate',
  'namespace-changed': 'NamespaceUpdate',
};
