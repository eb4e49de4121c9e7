import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';

export interface KeyedWorkDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** The subject of the work, for the log. */
  readonly subject: string;
  /** One pass over one key; returns the requeue time, or `undefined` when an event will wake it. */
  readonly look: (key: string) => Promise<number | undefined>;
  readonly retryFirstMs: number;
  readonly retryLongestMs: number;
  readonly atOnce: number;
}

/** Looks at keys: each at most once at a time, a bounded number side by side, and again after a failure with a growing pause. */
export class KeyedWork {
  readonly #deps: KeyedWorkDeps;
  readonly #due = new Set<string>();
  readonly #busy = new Map<string, Promise<void>>();
  readonly #timers = new Map<string, Timer>();
  readonly #failures = new Map<string, number>();
  #isRunning = false;

  constructor(deps: KeyedWorkDeps) {
    this.#deps = deps;
  }

  start(keys: Iterable<string>): void {
    this.#isRunning = true;
    for (const key of keys) this.wake(key);
    this.#pump();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    await Promise.all(this.#busy.values());
  }

  /** May be called in the middle of a change: the work begins in a later turn. */
  wake(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    this.#due.add(key);
    if (this.#isRunning) queueMicrotask(() => this.#pump());
  }

  /** The key is no longer used. */
  forget(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    this.#failures.delete(key);
  }

  /** The pause before the next look at a key that failed once more. */
  pauseAfterFailure(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const { retryFirstMs, retryLongestMs } = this.#deps;
    return Math.min(retryFirstMs * 2 ** Math.min(failures, DOUBLINGS_MAX), retryLongestMs);
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  #pump(): void {
    for (const key of this.#due) {
      if (!this.#isRunning || this.#busy.size >= this.#deps.atOnce) return;
      if (this.#busy.has(key)) continue;
      this.#due.delete(key);
      this.#busy.set(key, this.#work(key));
    }
  }

  async #work(key: string): Promise<void> {
    const { clock, log, subject, look } = this.#deps;
    let pauseMs: number | undefined;
    try {
      // A change is reported while it is being stored.
      await Promise.resolve();
      pauseMs = await look(key);
    } catch (error) {
      log.warn(`${subject} failed`, { key, error: describeError(error) });
      pauseMs = this.pauseAfterFailure(key);
    }
    this.#busy.delete(key);
    if (!this.#isRunning) return;
    if (pauseMs !== undefined && !this.#due.has(key)) {
      this.#timers.set(
        key,
        clock.timer(pauseMs, () => this.wake(key)),
      );
    }
    this.#pump();
  }
}

const DOUBLINGS_MAX = 20;
