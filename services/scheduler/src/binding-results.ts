import type { Pod } from '@holdfast/api';
import type { BindingOutcomes, Placed } from './adapters/binding.ts';
import type { PodWriter } from './adapters/pod-writer.ts';
import type { Decider } from './decider.ts';
import type { PodInfo } from './domain/pod-info.ts';
import { refusedNode } from './domain/refused-nodes.ts';
import type { Outcomes } from './outcomes.ts';
import type { SchedulerState } from './scheduler-state.ts';
import type { SeenPods } from './seen-pods.ts';

export interface BindingResultParts {
  readonly state: SchedulerState;
  readonly pods: SeenPods;
  readonly decider: Decider;
  readonly writer: PodWriter;
  readonly outcomes: Outcomes;
}

/** Handles the results of bindings. */
export class BindingResults implements BindingOutcomes {
  readonly #parts: BindingResultParts;
  readonly #state: SchedulerState;

  constructor(parts: BindingResultParts) {
    this.#parts = parts;
    this.#state = parts.state;
  }

  onBound({ pod, profile, attempts, addedMs, startedMs }: Placed): void {
    this.#state.totals.bound++;
    this.#state.queue.delete(pod.uid);
    const nowMs = this.#state.deps.clock.monotonic();
    this.#state.cache.bindingAnswered(pod.uid, nowMs);
    this.#state.metrics.attempt(profile.schedulerName, 'scheduled', (nowMs - startedMs) / 1_000);
    this.#state.metrics.bound(attempts, (nowMs - addedMs) / 1_000);
  }

  /** No binding was written: the room is free again. */
  onGivenUp(
    { pod, nodeName, profile, startedMs }: Placed,
    { message, plugin }: Parameters<BindingOutcomes['onGivenUp']>[1],
  ): void {
    this.#parts.decider.unreserve(profile, pod, nodeName);
    this.#forget(pod);
    const seconds = (this.#state.deps.clock.monotonic() - startedMs) / 1_000;
    if (plugin === undefined) {
      this.#state.metrics.attempt(profile.schedulerName, 'error', seconds);
      this.#parts.outcomes.fail(pod, profile, message);
      return;
    }
    this.#state.metrics.attempt(profile.schedulerName, 'unschedulable', seconds);
    this.#state.queue.unschedulable(pod.uid, new Set([plugin]), this.#state.deps.clock.monotonic());
    const why = refusedNode(this.#state.cache.nodes.length, nodeName, { plugin, reasons: [message] });
    this.#parts.outcomes.tell(pod, profile, { message, why });
  }

  /** Replaces the assumed state by the current state of the API. */
  onObserved(pod: PodInfo, current: Pod | undefined): void {
    this.#state.totals.unconfirmed++;
    if (current === undefined || (current.spec.nodeName ?? '') === '') this.#unreserve(pod);
    if (current === undefined) {
      this.#parts.pods.gone(pod.uid);
      return;
    }
    if ((current.spec.nodeName ?? '') === '' && this.#forget(pod)) {
      const nowMs = this.#state.deps.clock.monotonic();
      this.#state.queue.upsert(pod, false, nowMs);
      this.#state.queue.backOff(pod.uid, nowMs);
    }
    this.#parts.pods.seen(current);
  }

  #unreserve(pod: PodInfo): void {
    const profile = this.#state.profileOf(pod.pod);
    const nodeName = this.#state.cache.placed(pod.uid)?.nodeName;
    if (profile !== undefined && nodeName !== undefined) this.#parts.decider.unreserve(profile, pod, nodeName);
  }

  #forget(pod: PodInfo): boolean {
    const forgotten = this.#state.cache.forget(pod.uid);
    if (forgotten !== undefined) this.#state.note('pod-removed', forgotten);
    return forgotten !== undefined;
  }
}
