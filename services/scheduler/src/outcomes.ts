import type { Placed } from './adapters/binding.ts';
import type { Evictor } from './adapters/evictor.ts';
import type { PodWriter } from './adapters/pod-writer.ts';
import type { Decider, Outcome, Permitted, Refused } from './decider.ts';
import type { PodInfo } from './domain/pod-info.ts';
import type { Popped } from './domain/pod-queue.ts';
import { judgedNone, type RefusedNodes } from './domain/refused-nodes.ts';
import type { Profile } from './framework/profile.ts';
import type { SchedulerState } from './scheduler-state.ts';

export interface OutcomeParts {
  readonly state: SchedulerState;
  readonly decider: Decider;
  readonly writer: PodWriter;
  readonly evictor: Evictor;
}

export interface Attempt {
  readonly next: Popped;
  readonly startedMs: number;
}

/** Applies a decision: to cache and queue immediately, to the API in the background. */
export class Outcomes {
  readonly #parts: OutcomeParts;
  readonly #state: SchedulerState;

  constructor(parts: OutcomeParts) {
    this.#parts = parts;
    this.#state = parts.state;
  }

  /** Returns the pod to bind now. */
  apply({ next, startedMs }: Attempt, profile: Profile, outcome: Outcome): Placed | undefined {
    const { pod } = next;
    if (!this.#state.queue.has(pod.uid)) {
      // The pod was deleted or bound during the extender calls, so no preemption is needed.
      this.#state.queue.placed();
      if (outcome.kind === 'place') this.#parts.decider.unreserve(profile, pod, outcome.nodeName);
      return undefined;
    }
    switch (outcome.kind) {
      case 'place':
        return { ...this.#place(next, profile, outcome), startedMs };
      case 'refuse':
        this.#refuse(pod, profile, outcome);
        return undefined;
      case 'error':
        this.#state.deps.log.error('a decision failed', { pod: pod.key, error: outcome.message });
        this.fail(pod, profile, outcome.message);
        return undefined;
    }
  }

  #place(next: Popped, profile: Profile, { nodeName, waits }: Permitted): Omit<Placed, 'startedMs'> {
    const { pod, attempts, addedMs } = next;
    this.#state.queue.placed();
    this.#state.endNomination(pod, nodeName);
    this.#state.cache.assume(pod, nodeName);
    const placed = this.#state.cache.placed(pod.uid);
    if (placed !== undefined) this.#state.queue.note('pod-placed', placed, this.#state.deps.clock.monotonic());
    return { pod, nodeName, profile, waits, attempts, addedMs };
  }

  #refuse(pod: PodInfo, profile: Profile, refused: Refused): void {
    this.#state.totals.refused++;
    this.#state.queue.unschedulable(pod.uid, refused.plugins, this.#state.deps.clock.monotonic());
    this.tell(pod, profile, refused, this.#nominationAfter(pod, profile, refused));
  }

  /** Tells people why a pod has no node: by its condition, an event and the status endpoint. */
  tell(
    pod: PodInfo,
    { schedulerName }: Profile,
    told: { readonly message: string; readonly why: RefusedNodes; readonly reason?: 'SchedulerError' },
    nominated?: string | null,
  ): void {
    const { message, reason = 'Unschedulable' } = told;
    this.#state.refusals.note(pod, this.#state.deps.clock.now(), told);
    this.#parts.writer.notScheduled(pod, { reason, message }, nominated);
    this.#state.recorders.failed(pod.pod, schedulerName, message);
  }

  /** Returns the node of a new nomination, `null` to remove a nomination, `undefined` to keep it. */
  #nominationAfter(pod: PodInfo, profile: Profile, { preemption }: Refused): string | null | undefined {
    if (preemption.kind === 'preempt') {
      const { candidate } = preemption;
      this.#state.totals.preemptions++;
      this.#state.metrics.preemption(candidate.victims.length);
      // This pod replaces less important nominated pods on the node.
      for (const other of this.#state.cache.nominatedOn(candidate.nodeName)) {
        if (other.priority < pod.priority) this.#takeNominationBack(other);
      }
      this.#state.nominate(pod, candidate.nodeName);
      this.#parts.evictor.evict(pod, candidate, profile);
      return candidate.nodeName;
    }
    if (preemption.keeps || this.#state.cache.nominationOf(pod) === '') return undefined;
    this.#state.nominate(pod, '');
    return null;
  }

  #takeNominationBack(pod: PodInfo): void {
    this.#state.nominate(pod, '');
    this.#parts.writer.nominate(pod, null);
    this.#state.queue.reconsider(pod.uid, this.#state.deps.clock.monotonic());
  }

  fail(pod: PodInfo, profile: Profile, message: string): void {
    if (!this.#state.queue.has(pod.uid)) return;
    this.#state.queue.backOff(pod.uid, this.#state.deps.clock.monotonic());
    this.tell(pod, profile, { reason: 'SchedulerError', message, why: judgedNone(this.#state.cache.nodes.length) });
  }
}
