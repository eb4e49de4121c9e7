import { StatusError } from '@holdfast/machinery';
import { type Clock, type Log, NO_TRACER, type Service, type Tracer } from '@holdfast/platform';
import { IMMEDIATE_CONFLICT_RETRIES, RECONCILE_DEADLINE_MS } from './limits.ts';
import type { ReconcileResult, WorkQueue } from './port.ts';

/**
 * One pass over one key: observe, decide, apply. A rejection requeues the key (a 409 immediately, anything else after
 * the key's back-off). `signal` aborts at the deadline and when the controller stops.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;

export interface ControllerOptions {
  readonly name: string;
  /** The controller owns the queue and shuts it down when it stops. */
  readonly queue: WorkQueue;
  readonly workers: number;
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  readonly deadlineMs?: number;
}

/** Totals since the start; `active` and `overdue` are levels. */
export interface ControllerCounters {
  readonly passes: number;
  readonly conflicts: number;
  readonly failures: number;
  readonly deadlines: number;
  readonly active: number;
  /** Passes that ignore their aborted signal. Their keys stay locked until the passes end. */
  readonly overdue: number;
}

export interface Controller extends Service {
  counters(): ControllerCounters;
}

export function createController(options: ControllerOptions): Controller {
  return new ControllerLoop(options);
}

type Outcome =
  | { readonly kind: 'done'; readonly result: ReconcileResult | undefined }
  | { readonly kind: 'failed'; readonly error: unknown };

/** One for all: a cluster has dozens of controllers, and each error notes where it was made. */
const STOPPING = new Error('the controller is stopping');

class ControllerLoop implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #stopping = new AbortController();
  readonly #conflictsOf = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  /** The abort controllers of running passes. A signal that combines two others costs more than a short pass. */
  readonly #endings = new Set<AbortController>();
  readonly #totals = { passes: 0, conflicts: 0, failures: 0, deadlines: 0, active: 0, overdue: 0 };
  #workers: readonly Promise<void>[] = [];

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
  }

  counters(): ControllerCounters {
    return { ...this.#totals };
  }

  async start(): Promise<void> {
    if (this.#workers.length > 0) return;
    this.#workers = Array.from({ length: this.#options.workers }, () => this.#work());
  }

  async stop(): Promise<void> {
    this.#stopping.abort(STOPPING);
    for (const ending of this.#endings) ending.abort(STOPPING);
    this.#options.queue.shutDown();
    await Promise.all(this.#workers);
    await Promise.all(this.#running);
  }

  async #work(): Promise<void> {
    const { queue } = this.#options;
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) await this.#pass(key);
  }

  /**
   * Resolves when the pass ends or at its deadline. After the deadline the worker continues with other keys, and this
   * key stays locked until the pass ends.
   */
  async #pass(key: string): Promise<void> {
    const { clock, deadlineMs = RECONCILE_DEADLINE_MS, log } = this.#options;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const causes = this.#options.queue.takeCauses?.(key) ?? [];
    const ending = this.#ending();
    let isOverdue = false;
    const timer = clock.timer(deadlineMs, () => {
      this.#totals.deadlines++;
      this.#totals.overdue++;
      isOverdue = true;
      log.warn('a pass exceeded its deadline', { controller: this.name, key, deadlineMs });
      ending.abort(new Error(`the pass over ${key} exceeded ${deadlineMs} ms`));
      release();
    });
    const running = this.#attempt(key, causes, ending.signal).then((outcome) => {
      timer.cancel();
      this.#endings.delete(ending);
      if (isOverdue) this.#totals.overdue--;
      this.#settle(key, outcome, causes[0]);
      this.#running.delete(running);
      release();
    });
    this.#running.add(running);
    await released;
  }

  #ending(): AbortController {
    const ending = new AbortController();
    if (this.#stopping.signal.aborted) ending.abort(this.#stopping.signal.reason);
    else this.#endings.add(ending);
    return ending;
  }

  async #attempt(key: string, causes: readonly string[], signal: AbortSignal): Promise<Outcome> {
    const { reconcile, tracer = NO_TRACER } = this.#options;
    const attributes = { 'holdfast.controller': this.name, 'holdfast.key': key };
    this.#totals.passes++;
    this.#totals.active++;
    try {
      const span = tracer.span(`reconcile ${this.name}`, { kind: 'internal', root: true, causes, attributes }, () =>
        reconcile(key, signal),
      );
      return { kind: 'done', result: await span };
    } catch (error) {
      return { kind: 'failed', error };
    } finally {
      this.#totals.active--;
    }
  }

  #settle(key: string, outcome: Outcome, cause: string | undefined): void {
    const { queue, tracer = NO_TRACER } = this.#options;
    if (!this.#stopping.signal.aborted) {
      if (outcome.kind === 'failed') tracer.within(cause, () => this.#retry(key, outcome.error));
      else this.#succeed(key, outcome.result);
    }
    queue.done(key);
  }

  #succeed(key: string, result: ReconcileResult | undefined): void {
    const { queue } = this.#options;
    queue.forget(key);
    this.#conflictsOf.delete(key);
    if (result?.requeueAfterMs !== undefined) queue.addAfter(key, result.requeueAfterMs);
  }

  #retry(key: string, error: unknown): void {
    const { queue, log } = this.#options;
    if (error instanceof StatusError && error.code === 409) {
      this.#totals.conflicts++;
      const conflicts = (this.#conflictsOf.get(key) ?? 0) + 1;
      this.#conflictsOf.set(key, conflicts);
      if (conflicts <= IMMEDIATE_CONFLICT_RETRIES) queue.add(key);
      else queue.addRateLimited(key);
      return;
    }
    this.#totals.failures++;
    log.warn('a pass failed and will be repeated', { controller: this.name, key, error });
    queue.addRateLimited(key);
  }
}
