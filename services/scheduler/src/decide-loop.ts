import type { SpanAttributes } from '@holdfast/platform';
import type { Bindings } from './adapters/binding.ts';
import type { Decider, Outcome } from './decider.ts';
import type { Popped } from './domain/pod-queue.ts';
import { ASSUMPTION_CHECK_INTERVAL_MS, ASSUMPTION_MAX_MS, DECISIONS_PER_TURN } from './limits.ts';
import type { Outcomes } from './outcomes.ts';
import type { SchedulerState } from './scheduler-state.ts';

export interface DecideLoopParts {
  readonly state: SchedulerState;
  readonly decider: Decider;
  readonly outcomes: Outcomes;
  readonly bindings: Bindings;
  /** False while another scheduler leads. */
  readonly mayDecide: () => boolean;
  readonly signal: AbortSignal;
}

export class DecideLoop {
  readonly #parts: DecideLoopParts;
  readonly #state: SchedulerState;

  constructor(parts: DecideLoopParts) {
    this.#parts = parts;
    this.#state = parts.state;
  }

  /** Decides about pending pods until stopped. */
  async run(): Promise<void> {
    const { signal } = this.#parts;
    while (!signal.aborted) {
      const decided = this.#parts.mayDecide() ? await this.#decideSome() : 0;
      // Yields to the event loop between batches; waits when nothing is left to decide.
      if (decided === DECISIONS_PER_TURN) await this.#state.deps.clock.sleep(0, signal).catch(() => {});
      else await this.#rest();
    }
  }

  async #decideSome(): Promise<number> {
    const { signal } = this.#parts;
    this.#state.queue.tick(this.#state.deps.clock.monotonic());
    let decided = 0;
    for (; decided < DECISIONS_PER_TURN && !signal.aborted; decided++) {
      await this.#parts.bindings.place();
      const next = this.#state.queue.pop();
      if (next === undefined) break;
      await this.#decide(next);
    }
    return decided;
  }

  async #decide(next: Popped): Promise<void> {
    const profile = this.#state.profileOf(next.pod.pod);
    if (profile === undefined) {
      this.#state.queue.delete(next.pod.uid);
      return;
    }
    this.#state.totals.decisions++;
    const startedMs = this.#state.deps.clock.monotonic();
    const decided = this.#traced(next, () => this.#parts.decider.decide(next.pod, profile));
    // An await costs a microtask turn; only decisions with extenders need it.
    const outcome = decided instanceof Promise ? await decided : decided;
    const seconds = (this.#state.deps.clock.monotonic() - startedMs) / 1_000;
    this.#state.metrics.algorithm(seconds);
    const placed = this.#parts.outcomes.apply({ next, startedMs }, profile, outcome);
    if (placed !== undefined) this.#parts.bindings.start(placed);
    if (outcome.kind === 'place') return;
    this.#state.metrics.attempt(profile.schedulerName, outcome.kind === 'error' ? 'error' : 'unschedulable', seconds);
  }

  /** With tracing on, one span with kube-scheduler's name for a decision. */
  #traced({ pod, attempts }: Popped, decide: () => Outcome | Promise<Outcome>): Outcome | Promise<Outcome> {
    const { tracer } = this.#state.deps;
    if (tracer === undefined) return decide();
    const attributes = { 'holdfast.key': pod.key, 'holdfast.attempt': attempts };
    const causes = this.#state.causes?.of(pod.uid) ?? [];
    return tracer.span('Scheduling', { kind: 'internal', root: true, causes, attributes }, async (span) => {
      const outcome = await decide();
      span.set({ 'holdfast.result': outcome.kind, ...toldOf(outcome) });
      return outcome;
    });
  }

  /** Reads pods whose binding was answered but not observed, so that an assumption cannot leak. */
  async checkAssumptions(): Promise<void> {
    const { clock } = this.#state.deps;
    const { signal } = this.#parts;
    while (!signal.aborted) {
      await clock.sleep(ASSUMPTION_CHECK_INTERVAL_MS, signal).catch(() => {});
      for (const pod of this.#state.cache.unconfirmed(clock.monotonic() - ASSUMPTION_MAX_MS)) {
        this.#state.cache.bindingAnswered(pod.uid, clock.monotonic());
        this.#parts.bindings.observe(pod);
      }
    }
  }

  async #rest(): Promise<void> {
    const { clock } = this.#state.deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    const dueMs = this.#state.queue.tick(clock.monotonic());
    this.#state.onWork(resolve);
    if (this.#parts.mayDecide() && this.#state.queue.hasActive()) resolve();
    const timer = dueMs === undefined ? undefined : clock.timer(dueMs - clock.monotonic(), resolve);
    if (this.#parts.signal.aborted) resolve();
    await promise;
    this.#state.onWork(undefined);
    timer?.cancel();
  }
}

const toldOf = (outcome: Outcome): SpanAttributes =>
  outcome.kind === 'place' ? { 'holdfast.node': outcome.nodeName } : { 'holdfast.message': outcome.message };
