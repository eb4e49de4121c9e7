import { type Clock, DelayHeap, Fifo, invariant, NO_TRACER, type Timer, type Tracer } from '@holdfast/platform';
import { Causes } from './causes.ts';
import { QUEUE_BACKOFF_BASE_MS, QUEUE_BACKOFF_MAX_MS } from './limits.ts';
import type { WorkQueue } from './port.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Keeps what asked for each key. */
  readonly tracer?: Tracer | undefined;
  readonly backoffBaseMs?: number;
  readonly backoffMaxMs?: number;
}

/**
 * The queue holds at most as many keys as its owner watches objects, since it never holds a key twice. `shutDown` drops
 * queued keys: they are derived from state and come back with the next start.
 */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyQueue({
    backoffBaseMs: QUEUE_BACKOFF_BASE_MS,
    backoffMaxMs: QUEUE_BACKOFF_MAX_MS,
    ...options,
  });
}

type QueueOptions = WorkQueueOptions & Required<Omit<WorkQueueOptions, 'tracer'>>;

class KeyQueue implements WorkQueue {
  readonly #options: QueueOptions;
  readonly #causes: Causes | undefined;
  readonly #ready = new Fifo<string>();
  /** Keys that are queued, or that will be queued again when their running pass ends. */
  readonly #dirty = new Set<string>();
  readonly #processing = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new DelayHeap();
  readonly #takers = new Fifo<(key: string | undefined) => void>();
  #timer: { readonly dueMs: number; readonly handle: Timer } | undefined;
  #shutDown = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#causes = options.tracer === undefined ? undefined : new Causes(options.tracer);
  }

  add(key: string): void {
    if (this.#shutDown) return;
    this.#causes?.note(key);
    if (this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.#processing.has(key)) this.#offer(key);
  }

  addAfter(key: string, delayMs: number): void {
    if (this.#shutDown) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    this.#delayed.push(key, this.#options.clock.monotonic() + delayMs);
    this.#arm();
  }

  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.addAfter(key, Math.min(this.#options.backoffBaseMs * 2 ** failures, this.#options.backoffMaxMs));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  async take(): Promise<string | undefined> {
    if (this.#shutDown) return undefined;
    const key = this.#ready.shift();
    if (key !== undefined) return this.#handOut(key);
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#takers.push(resolve);
    return promise;
  }

  done(key: string): void {
    invariant(this.#processing.delete(key), 'only a key that was taken can be done', { key });
    if (this.#dirty.has(key) && !this.#shutDown) this.#offer(key);
  }

  takeCauses(key: string): readonly string[] {
    return this.#causes?.take(key) ?? [];
  }

  length(): number {
    return this.#ready.size;
  }

  shutDown(): void {
    this.#shutDown = true;
    this.#timer?.handle.cancel();
    this.#timer = undefined;
    for (let taker = this.#takers.shift(); taker !== undefined; taker = this.#takers.shift()) taker(undefined);
  }

  #offer(key: string): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#ready.push(key);
    else taker(this.#handOut(key));
  }

  #handOut(key: string): string {
    invariant(!this.#processing.has(key), 'a key is never handed out twice at once', { key });
    this.#processing.add(key);
    this.#dirty.delete(key);
    return key;
  }

  /** Sets one timer for the earliest delayed key. */
  #arm(): void {
    const dueMs = this.#delayed.nextDueMs();
    if (dueMs === undefined || (this.#timer !== undefined && this.#timer.dueMs <= dueMs)) return;
    this.#timer?.handle.cancel();
    const handle = this.#options.clock.timer(dueMs - this.#options.clock.monotonic(), () => this.#release());
    this.#timer = { dueMs, handle };
  }

  #release(): void {
    this.#timer = undefined;
    const { clock, tracer = NO_TRACER } = this.#options;
    // Time asked for these, not the work that set the timer.
    tracer.within(undefined, () => {
      for (const key of this.#delayed.popDue(clock.monotonic())) this.add(key);
      this.#arm();
    });
  }
}
