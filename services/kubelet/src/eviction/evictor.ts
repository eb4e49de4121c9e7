import type { Node } from '@holdfast/api';
import type { EventRecorder } from '@holdfast/client';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { EVICTION_LOOK_MS, EVICTION_PAUSE_MS, IMMEDIATE_EVICTION_GRACE_SECONDS } from '../limits.ts';
import type { NodeStats, PodSample } from '../stats/port.ts';
import { isCritical } from './critical.ts';
import {
  decideEviction,
  type EvictionDecision,
  type EvictionMemory,
  INITIAL_EVICTION_MEMORY,
  type Relief,
} from './decide.ts';
import { killPodNow } from './kill-pod.ts';
import { exceededLimit, hasLocalLimits } from './local-limits.ts';
import { evictionText } from './message.ts';
import { measuresOf, type PressureCondition, SIGNALS } from './signals.ts';
import type { EvictionConfig } from './thresholds.ts';

export interface EvictorDeps {
  readonly config: EvictionConfig;
  readonly stats: NodeStats;
  /** Memory that pods may use together, in bytes; absent without a limit. */
  readonly allocatableMemory: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** The object of this node, for events. */
  readonly node: () => Node | undefined;
  /** Frees unused disk space before pods are evicted; resolves with the number of bytes. Absent: nothing to free. */
  readonly reclaim?: () => Promise<number>;
  /** Resolves when nothing of the pod runs and its object has the reason. */
  readonly end: (uid: string, failure: PodFailure) => Promise<void>;
  /** `conditions` answers differently now. */
  readonly onConditions: () => void;
}

/** Looks at what the node has left, and ends pods, one at a time, before the machine itself gives in. */
export class Evictor {
  readonly #deps: EvictorDeps;
  readonly #counts = new Map<string, number>();
  readonly #stopping = new AbortController();
  #memory: EvictionMemory = INITIAL_EVICTION_MEMORY;
  #conditions: readonly PressureCondition[] = [];
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: EvictorDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#looking = this.#look();
  }

  /** A running eviction continues in its worker. */
  stop(): void {
    this.#stopping.abort(new Error('the kubelet stops'));
    this.#timer?.cancel();
  }

  conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  /** The number of evicted pods by signal. */
  evictions(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Resolves when the present look has ended. */
  async settled(): Promise<void> {
    await this.#looking;
  }

  async #look(): Promise<void> {
    let evicted = false;
    try {
      evicted = await this.#pass();
    } catch (error) {
      this.#deps.log.warn('the resources of the node could not be checked, will retry', {
        error: describeError(error),
      });
    }
    if (this.#stopping.signal.aborted) return;
    this.#timer = this.#deps.clock.timer(evicted ? EVICTION_PAUSE_MS : EVICTION_LOOK_MS, () => this.start());
  }

  async #pass(): Promise<boolean> {
    const first = await this.#observeAndShow();
    const { pods, decision } = (await this.#reclaimed(first.decision.relief)) ? await this.#observeAndShow() : first;
    if (this.#stopping.signal.aborted) return false;
    if (await this.#enforceLocalLimits(pods)) return true;
    return decision.relief !== undefined && this.#relieve(decision.relief);
  }

  async #observeAndShow(): Promise<{ readonly pods: readonly PodSample[]; readonly decision: EvictionDecision }> {
    const observed = await this.#observe();
    if (this.#stopping.signal.aborted) return observed;
    this.#memory = observed.decision.memory;
    this.#show(observed.decision.conditions);
    return observed;
  }

  /** Resolves with true when disk space was freed: then no pod is evicted in this pass. */
  async #reclaimed(relief: Relief | undefined): Promise<boolean> {
    const { reclaim } = this.#deps;
    if (relief === undefined || reclaim === undefined || this.#stopping.signal.aborted) return false;
    if (SIGNALS[relief.threshold.signal].condition !== 'DiskPressure') return false;
    try {
      return (await reclaim()) > 0;
    } catch (error) {
      // The disk is short all the same.
      this.#deps.log.warn('nothing could be removed from a disk under pressure', { error: describeError(error) });
      return false;
    }
  }

  /** Walks files only when a pod's limit or the ranking needs it. */
  async #observe(): Promise<{ readonly pods: readonly PodSample[]; readonly decision: EvictionDecision }> {
    const { stats, config, clock, allocatableMemory } = this.#deps;
    const lookAt = async (disk: boolean) => {
      const sample = await stats.sample({ disk });
      const observed = { measures: measuresOf(sample, allocatableMemory), pods: sample.pods, now: clock.monotonic() };
      return { pods: sample.pods, decision: decideEviction(config, observed, this.#memory) };
    };
    const first = await lookAt(false);
    const { relief } = first.decision;
    const isDisk = relief !== undefined && SIGNALS[relief.threshold.signal].condition === 'DiskPressure';
    return isDisk || first.pods.some(({ pod }) => hasLocalLimits(pod)) ? lookAt(true) : first;
  }

  #show(conditions: readonly PressureCondition[]): void {
    const before = this.#conditions;
    this.#conditions = conditions;
    const changed = [...new Set([...before, ...conditions])].filter(
      (each) => before.includes(each) !== conditions.includes(each),
    );
    if (changed.length === 0) return;
    for (const each of changed)
      this.#tellNode('Normal', NODE_EVENTS[each][conditions.includes(each) ? 'has' : 'hasNot']);
    this.#deps.onConditions();
  }

  #tellNode(type: 'Normal' | 'Warning', reason: string, message?: string): void {
    const node = this.#deps.node();
    if (node === undefined) return;
    this.#deps.events.event(node, {
      type,
      reason,
      message: message ?? `Node ${node.metadata.name} status is now: ${reason}`,
    });
  }

  /** Evicts pods that exceed their own limits, even without pressure. */
  async #enforceLocalLimits(pods: readonly PodSample[]): Promise<boolean> {
    let evicted = false;
    for (const sample of pods) {
      const exceeded = exceededLimit(sample);
      if (exceeded === undefined) continue;
      const text = { message: exceeded.message, annotations: {} };
      const why = { text, signal: exceeded.signal, grace: IMMEDIATE_EVICTION_GRACE_SECONDS, isDisruption: false };
      evicted = (await this.#evict(sample, why)) || evicted;
    }
    return evicted;
  }

  /** Evicts the first possible pod of the ranking, and only that one; then the node is measured again. */
  async #relieve(relief: Relief): Promise<boolean> {
    const { threshold, candidates } = relief;
    const { resource } = SIGNALS[threshold.signal];
    this.#tellNode('Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    const grace = threshold.kind === 'hard' ? IMMEDIATE_EVICTION_GRACE_SECONDS : this.#deps.config.maxPodGraceSeconds;
    for (const candidate of candidates) {
      const text = evictionText(relief, candidate);
      if (await this.#evict(candidate, { text, signal: threshold.signal, grace, isDisruption: true })) return true;
    }
    return false;
  }

  /** False: it may not be ended. One that takes too long to end counts as evicted: it is on its way. */
  async #evict({ pod }: PodSample, why: Why): Promise<boolean> {
    const { events, log } = this.#deps;
    const { namespace, name } = pod.metadata;
    if (isCritical(pod)) {
      log.warn('a critical pod is not evicted', { pod: { namespace, name }, signal: why.signal });
      return false;
    }
    const { message, annotations } = why.text;
    events.event(pod, { type: 'Warning', reason: 'Evicted', message, annotations });
    this.#counts.set(why.signal, (this.#counts.get(why.signal) ?? 0) + 1);
    log.info('evicting a pod', { pod: { namespace, name }, signal: why.signal, message });
    const disruption = why.isDisruption ? { disruption: message } : {};
    const failure: PodFailure = { reason: 'Evicted', message, graceSeconds: why.grace, ...disruption };
    try {
      await killPodNow(this.#deps, pod, failure, why.grace);
    } catch (error) {
      log.warn('an evicted pod has not ended yet', { pod: { namespace, name }, error: describeError(error) });
    }
    return true;
  }
}

interface Why {
  readonly text: { readonly message: string; readonly annotations: Readonly<Record<string, string>> };
  readonly signal: string;
  readonly grace: number;
  /** A pod beyond its own limit would exceed it again: a Job counts that as a failure of the pod. */
  readonly isDisruption: boolean;
}

const NODE_EVENTS: Readonly<Record<PressureCondition, { readonly has: string; readonly hasNot: string }>> = {
  MemoryPressure: { has: 'NodeHasInsufficientMemory', hasNot: 'NodeHasSufficientMemory' },
  DiskPressure: { has: 'NodeHasDiskPressure', hasNot: 'NodeHasNoDiskPressure' },
  PIDPressure: { has: 'NodeHasInsufficientPID', hasNot: 'NodeHasSufficientPID' },
};
