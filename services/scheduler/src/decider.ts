import type { PodDisruptionBudget } from '@holdfast/api';
import { type Clock, describeError, type Log, type Random } from '@holdfast/platform';
import type { PermitWait } from './adapters/binding.ts';
import type { Extender } from './adapters/extender.ts';
import type { ClusterCache } from './domain/cluster-cache.ts';
import { fitMessage, NO_NODES } from './domain/fit-message.ts';
import type { NodeInfo } from './domain/node-info.ts';
import type { PodInfo } from './domain/pod-info.ts';
import { type Candidate, pickCandidate } from './domain/preemption.ts';
import { type RefusedNodes, refusedNode, refusedNodes } from './domain/refused-nodes.ts';
import { type Decision, type Refusal, schedule } from './domain/schedule.ts';
import { candidatesOfExtenders, scheduleWithExtenders } from './extended-decision.ts';
import type { Cycle, PostFiltered } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import type { ExtensionTimer, PluginTimer, StepStatus } from './framework/timing.ts';
import { PLUGINS_TIMED_INTERVAL_MS, TIMED_EVERY } from './limits.ts';
import type { SchedulerMetrics } from './metrics.ts';

export interface DeciderDeps {
  readonly cache: ClusterCache;
  readonly budgets: () => readonly PodDisruptionBudget[];
  readonly extenders: readonly Extender[];
  readonly metrics: SchedulerMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type Outcome = Permitted | Refused | { readonly kind: 'error'; readonly message: string };

export interface Permitted {
  readonly kind: 'place';
  readonly nodeName: string;
  readonly waits: readonly PermitWait[];
}

export interface Refused {
  readonly kind: 'refuse';
  readonly plugins: ReadonlySet<string>;
  readonly message: string;
  readonly why: RefusedNodes;
  readonly preemption: Preemption;
}

export type Preemption =
  | { readonly kind: 'preempt'; readonly candidate: Candidate }
  /** `keeps`: an earlier nomination is still valid. */
  | { readonly kind: 'none'; readonly message: string; readonly keeps: boolean };

/** Preemption was not tried: nothing to report or change. */
const NO_PREEMPTION: Preemption = { kind: 'none', message: '', keeps: true };

/** One decision from the pod to its reservation. Synchronous unless extenders take part. */
export class Decider {
  readonly #deps: DeciderDeps;
  readonly #timers = new Map<Profile, ExtensionTimer>();
  readonly #pluginTimer: PluginTimer;
  #startAt = 0;
  #decisions = 0;
  #nextTimedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: DeciderDeps) {
    this.#deps = deps;
    const { metrics, clock } = deps;
    this.#pluginTimer = metrics.pluginTimer(() => clock.monotonic());
  }

  decide(pod: PodInfo, profile: Profile): Outcome | Promise<Outcome> {
    if (this.#deps.extenders.length > 0) return this.#decideWithExtenders(pod, profile);
    try {
      const decision = schedule(this.#deps.cache, pod, this.#optionsFor(profile));
      if (decision.kind === 'refuse') return this.#refused(decision, this.#preempt(pod, decision, profile));
      return this.#settle(pod, decision, profile);
    } catch (error) {
      return { kind: 'error', message: describeError(error) };
    }
  }

  unreserve(profile: Profile, pod: PodInfo, nodeName: string): void {
    this.#timerOf(profile)('Unreserve', () => {
      for (const { unreserve } of profile.reserves.toReversed()) unreserve?.(pod, nodeName);
    });
  }

  async #decideWithExtenders(pod: PodInfo, profile: Profile): Promise<Outcome> {
    const { cache, extenders, log } = this.#deps;
    try {
      const options = { ...this.#optionsFor(profile), log };
      const decision = await scheduleWithExtenders({ pod, snapshot: cache }, extenders, options);
      if (decision.kind === 'place') return this.#settle(pod, decision, profile);
      const found = this.#postFilter(pod, decision, profile);
      if (found?.kind !== 'candidates') return this.#refused(decision, pick(found));
      const candidates = await candidatesOfExtenders(pod, extenders, { candidates: found.candidates, log });
      return this.#refused(decision, pick({ kind: 'candidates', candidates }));
    } catch (error) {
      return { kind: 'error', message: describeError(error) };
    }
  }

  #isTimed(): boolean {
    if (this.#decisions++ % TIMED_EVERY !== 0) return false;
    const nowMs = this.#deps.clock.monotonic();
    if (nowMs < this.#nextTimedAtMs) return false;
    this.#nextTimedAtMs = nowMs + PLUGINS_TIMED_INTERVAL_MS;
    return true;
  }

  #optionsFor(profile: Profile): Parameters<typeof schedule>[2] {
    const plugins = this.#isTimed() ? this.#pluginTimer : undefined;
    return { profile, random: this.#deps.random, startAt: this.#startAt, time: this.#timerOf(profile), plugins };
  }

  /** Runs Reserve and Permit. When a later plugin refuses, this releases all reservations for the pod. */
  #settle(pod: PodInfo, { nodeName, looked }: Extract<Decision, { kind: 'place' }>, profile: Profile): Outcome {
    const { cache } = this.#deps;
    const node = cache.node(nodeName);
    if (node === undefined) return { kind: 'error', message: `node "${nodeName}" not found` };
    this.#startAt = (this.#startAt + looked) % cache.nodes.length;
    const time = this.#timerOf(profile);
    const cycle = { pod, snapshot: cache };
    const refused = time('Reserve', () => reserveFor(cycle, node, profile), statusOfRefused);
    const permit = (): Permitted | Refused => permitFor(pod, { name: nodeName, total: cache.nodes.length }, profile);
    const settled = refused ?? (profile.permits.length === 0 ? permit() : time('Permit', permit, statusOfPermit));
    if (settled.kind !== 'place') this.unreserve(profile, pod, nodeName);
    return settled;
  }

  #preempt(pod: PodInfo, refusal: Refusal, profile: Profile): Preemption {
    return pick(this.#postFilter(pod, refusal, profile));
  }

  #postFilter(pod: PodInfo, refusal: Refusal, profile: Profile): PostFiltered | undefined {
    const { cache, metrics, random, budgets } = this.#deps;
    if (cache.nodes.length === 0 || profile.postFilters.length === 0) return undefined;
    metrics.preemptionTried();
    const context = { pod, snapshot: cache, refusal, filters: refusal.filters, budgets: budgets(), random };
    const run = (): PostFiltered | undefined => {
      let found: PostFiltered | undefined;
      for (const { call } of profile.postFilters) {
        found = call(context);
        if (found.kind === 'candidates') break;
      }
      return found;
    };
    return this.#timerOf(profile)('PostFilter', run, (found) =>
      found?.kind === 'candidates' ? 'Success' : 'Unschedulable',
    );
  }

  #timerOf(profile: Profile): ExtensionTimer {
    const { metrics, clock } = this.#deps;
    const timer = this.#timers.get(profile) ?? metrics.timer(profile.schedulerName, () => clock.monotonic());
    this.#timers.set(profile, timer);
    return timer;
  }

  #refused(refusal: Refusal, preemption: Preemption): Refused {
    const { nodes: all } = this.#deps.cache;
    const nodes = all.length;
    const fit = fitMessage(nodes, refusal);
    const told = preemption.kind === 'none' && preemption.message !== '' ? `${fit} ${preemption.message}` : fit;
    const why = refusedNodes(all, refusal);
    return { kind: 'refuse', plugins: refusal.plugins, message: nodes === 0 ? NO_NODES : told, why, preemption };
  }
}

function pick(found: PostFiltered | undefined): Preemption {
  if (found === undefined) return NO_PREEMPTION;
  if (found.kind === 'none') return found;
  const candidate = pickCandidate(found.candidates);
  return candidate === undefined ? { kind: 'none', message: '', keeps: false } : { kind: 'preempt', candidate };
}

function refusedBy(plugin: string, message: string, { name, total }: ChosenNode): Refused {
  const why = refusedNode(total, name, { plugin, reasons: [message] });
  return { kind: 'refuse', plugins: new Set([plugin]), message, why, preemption: NO_PREEMPTION };
}

/** The node that a pod was to get, of all nodes. */
interface ChosenNode {
  readonly name: string;
  readonly total: number;
}

function reserveFor(cycle: Cycle, node: NodeInfo, { reserves }: Profile): Refused | undefined {
  for (const { name, reserve } of reserves) {
    const problem = reserve?.(cycle, node);
    if (problem !== undefined) {
      return refusedBy(name, problem, { name: node.name, total: cycle.snapshot.nodes.length });
    }
  }
  return undefined;
}

function permitFor(pod: PodInfo, node: ChosenNode, { permits }: Profile): Permitted | Refused {
  const nodeName = node.name;
  const waits: PermitWait[] = [];
  for (const { name, call } of permits) {
    const permission = call(pod, nodeName);
    if (permission.kind === 'reject') return refusedBy(name, permission.message, node);
    if (permission.kind === 'wait') waits.push({ plugin: name, ...permission });
  }
  return { kind: 'place', nodeName, waits };
}

const statusOfRefused = (refused: Refused | undefined): StepStatus =>
  refused === undefined ? 'Success' : 'Unschedulable';

function statusOfPermit(settled: Permitted | Refused): StepStatus {
  if (settled.kind === 'refuse') return 'Unschedulable';
  return settled.waits.length > 0 ? 'Wait' : 'Success';
}
