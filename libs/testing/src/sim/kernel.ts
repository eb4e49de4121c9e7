import { BinaryHeap, createSeededRandom, invariant, nextTurn, type Random } from '@holdfast/platform';
import { isEarlier, type SimEvent } from './sim-event.ts';
import { TraceHash } from './trace-hash.ts';

/** 2026-01-01T00:00:00Z, the start time of every simulation. */
export const SIMULATION_EPOCH_MS = 1_767_225_600_000;
/**
 * About one microsecond per tick. A power of two, so that sums and differences of virtual times are exact in floating
 * point.
 */
const TICKS_PER_MS = 1024;
/** The shortest time, in milliseconds. */
export const TICK_MS = 1 / TICKS_PER_MS;
/** More steps than this at one time mean that something reschedules itself without letting time pass. */
const MAX_STEPS_AT_ONE_TIME = 100_000;

/** Before everything that is due at the end of a pause. */
const POSTPONED = -1;

/** Called after every step. Returns a description when its invariant is violated. */
export interface Oracle {
  readonly name: string;
  readonly check: () => string | undefined;
}

/** An invariant is violated. The run ends, and its seed reproduces it. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
  readonly oracle: string;
  readonly seed: number;
  readonly atMs: number;
  constructor(init: { oracle: string; seed: number; atMs: number; story: string }) {
    super(`[seed ${init.seed}] ${init.oracle} violated at ${(init.atMs / 1000).toFixed(3)} s: ${init.story}`);
    this.oracle = init.oracle;
    this.seed = init.seed;
    this.atMs = init.atMs;
  }
}

export interface ScheduleOptions {
  readonly delayMs: number;
  readonly label: string;
  /**
   * The owner of the event: a process, or a link. The order of events at one time is drawn from a random stream per
   * owner.
   */
  readonly owner?: string;
  /** The process in which it happens. The event waits while that process is paused. */
  readonly at?: string;
  readonly fire: () => void;
  readonly wanted?: () => boolean;
}

/**
 * One process, virtual time, one seed. The kernel takes the next event, runs it, lets every promise settle, checks the
 * oracles, and continues. Time never advances while promises settle, and nothing inside a run may do real I/O.
 */
export class SimulationKernel {
  readonly seed: number;
  readonly #heap = new BinaryHeap<SimEvent>(isEarlier);
  readonly #trace = new TraceHash();
  readonly #oracles: Oracle[] = [];
  /** The end of each process's pause. */
  readonly #pausedUntil = new Map<string, number>();
  readonly #ties = new Map<string, Random>();
  #nowTicks = 0;
  #sequence = 0;
  #steps = 0;
  #stepsAtThisTime = 0;
  #failure: Error | undefined;

  /** `startMs`: the virtual time of a run that this one continues. */
  constructor(seed: number, startMs = 0) {
    this.seed = seed;
    this.#nowTicks = Math.round(startMs * TICKS_PER_MS);
  }

  /** Virtual milliseconds since `SIMULATION_EPOCH_MS`. */
  get elapsedMs(): number {
    return this.#nowTicks / TICKS_PER_MS;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Returns the random stream for one purpose. Equal names of one seed give equal streams. */
  random(name: string): Random {
    return createSeededRandom(this.seed, name);
  }

  /** Returns the virtual time at which the event happens. */
  schedule(options: ScheduleOptions): number {
    // Rounds up: if a timer fired early, code that waits for a deadline would check it again for ever.
    const delayTicks = Math.max(0, Math.ceil(options.delayMs * TICKS_PER_MS));
    const atTicks = this.#nowTicks + delayTicks;
    this.#heap.push({
      atTicks,
      tieBreak: this.#tiesOf(options.owner ?? '').int(0x4000_0000),
      sequence: this.#sequence++,
      label: options.label,
      at: options.at,
      fire: options.fire,
      wanted: options.wanted ?? (() => true),
    });
    return atTicks / TICKS_PER_MS;
  }

  /**
   * The process does nothing for this long (stopped, starved, swapped out). Its pending events happen afterwards, in
   * order.
   */
  pause(process: string, durationMs: number): void {
    const untilTicks = this.#nowTicks + Math.ceil(durationMs * TICKS_PER_MS);
    this.#pausedUntil.set(process, Math.max(untilTicks, this.#pausedUntil.get(process) ?? 0));
    this.record(`pause ${process}`);
  }

  /** One stream per owner: removing an event of one owner changes nothing for the others. */
  #tiesOf(owner: string): Random {
    const known = this.#ties.get(owner);
    if (known !== undefined) return known;
    const ties = this.random(`ties of ${owner}`);
    this.#ties.set(owner, ties);
    return ties;
  }

  /** Folds a fact (a commit, a delivered message, a started container) into the trace hash. */
  record(fact: string): void {
    this.#trace.fold(`${this.#nowTicks} ${fact}`);
  }

  addOracle(oracle: Oracle): void {
    this.#oracles.push(oracle);
  }

  /** Ends the run with this error at the next step. Use it in callbacks that nothing awaits. */
  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error('a callback failed', { cause: error });
  }

  traceHash(): string {
    return this.#trace.digest();
  }

  /** Runs for `durationMs` of virtual time. Rejects with `SimulationFailure` at the first violated oracle. */
  async runFor(durationMs: number): Promise<void> {
    const untilTicks = this.#nowTicks + Math.round(durationMs * TICKS_PER_MS);
    await this.#settle();
    for (;;) {
      const next = this.#heap.peek();
      if (next === undefined || next.atTicks > untilTicks) break;
      await this.#step();
    }
    this.#nowTicks = untilTicks;
  }

  /** Runs until `condition` holds. Rejects when that takes longer than `deadlineMs` of virtual time. */
  async runUntil(what: string, condition: () => boolean, deadlineMs: number): Promise<void> {
    const deadlineTicks = this.#nowTicks + Math.round(deadlineMs * TICKS_PER_MS);
    await this.#settle();
    while (!condition()) {
      const next = this.#heap.peek();
      if (next === undefined || next.atTicks > deadlineTicks) {
        throw new SimulationFailure({
          oracle: 'liveness',
          seed: this.seed,
          atMs: this.elapsedMs,
          story: `${what} did not happen within ${deadlineMs / 1000} s`,
        });
      }
      await this.#step();
    }
  }

  async #step(): Promise<void> {
    const event = this.#heap.pop();
    invariant(event !== undefined, 'a step needs an event');
    invariant(event.atTicks >= this.#nowTicks, 'virtual time never goes back', { label: event.label });
    this.#countStep(event);
    if (!event.wanted() || this.#isHeldBack(event)) return;
    this.#trace.fold(`${event.atTicks} ${event.label}`);
    event.fire();
    await this.#settle();
    this.#checkOracles();
  }

  #isHeldBack(event: SimEvent): boolean {
    if (event.at === undefined || this.#pausedUntil.size === 0) return false;
    const untilTicks = this.#pausedUntil.get(event.at) ?? 0;
    if (untilTicks <= this.#nowTicks) return false;
    // Keeps the order of the postponed events, also of those that an earlier pause has postponed already.
    const sequence = event.tieBreak === POSTPONED ? event.sequence : this.#sequence++;
    this.#heap.push({ ...event, atTicks: untilTicks, tieBreak: POSTPONED, sequence });
    return true;
  }

  #countStep({ atTicks, label }: SimEvent): void {
    this.#steps++;
    this.#stepsAtThisTime = atTicks === this.#nowTicks ? this.#stepsAtThisTime + 1 : 0;
    this.#nowTicks = atTicks;
    invariant(this.#stepsAtThisTime < MAX_STEPS_AT_ONE_TIME, 'virtual time stands still', { atTicks, label });
  }

  /** Lets every promise settle that can: one turn of the real event loop runs the whole microtask queue. */
  async #settle(): Promise<void> {
    await nextTurn();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #checkOracles(): void {
    for (const oracle of this.#oracles) {
      const story = oracle.check();
      if (story !== undefined) {
        throw new SimulationFailure({ oracle: oracle.name, seed: this.seed, atMs: this.elapsedMs, story });
      }
    }
  }
}
