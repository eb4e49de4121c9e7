import { BinaryHeap, createSeededRandom, invariant, nextTurn, type Random } from '@holdfast/platform';
import { isEarlier, type SimEvent } from './sim-event.ts';
import { TraceHash } from './trace-hash.ts';

/** 2026-01-01T00:00:00Z: where every simulation begins. */
export const SIMULATION_EPOCH_MS = 1_767_225_600_000;
/** About a ticksecond. A power of two, so that sums and differences of virtual times are exact in floating point. */
const TICKS_PER_MS = 1024;
/** The shortest time there is, in milliseconds. */
export const TICK_MS = 1 / TICKS_PER_MS;
/** A run that needs more steps than this does not end by itself: something reschedules without letting time pass. */
const MAX_STEPS_AT_ONE_TIME = 100_000;

/** Called after every step; returns the story when its statement about the world does not hold. */
export interface Oracle {
  readonly name: string;
  readonly check: () => string | undefined;
}

/** A statement that must always hold did not: the run ends here and the seed is the way back to it. */
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
  /** Whose event it is: a process, or a link. The order of events at one time is drawn from a stream of their owner. */
  readonly owner?: string;
  /** The process in which it happens: while that one is paused it waits. */
  readonly at?: string;
  readonly fire: () => void;
  readonly wanted?: () => boolean;
}

/**
 * One process, virtual time, one seed. Takes the next event, runs it, lets every promise settle, checks the oracles, goes on.
 * Time never advances while promises are settling, and nothing inside a run may do real I/O.
 */
export class SimulationKernel {
  readonly seed: number;
  readonly #heap = new BinaryHeap<SimEvent>(isEarlier);
  readonly #trace = new TraceHash();
  readonly #oracles: Oracle[] = [];
  /** Until when each process does nothing. */
  readonly #pausedUntil = new Map<string, number>();
  readonly #ties = new Map<string, Random>();
  #nowTicks = 0;
  #sequence = 0;
  #steps = 0;
  #stepsAtThisTime = 0;
  #failure: Error | undefined;

  constructor(seed: number) {
    this.seed = seed;
  }

  /** Virtual milliseconds since the run began. */
  get elapsedMs(): number {
    return this.#nowTicks / TICKS_PER_MS;
  }

  get steps(): number {
    return this.#steps;
  }

  /** The stream of random numbers for one purpose; equal names of one seed give equal streams. */
  random(name: string): Random {
    return createSeededRandom(this.seed, name);
  }

  /** Answers the virtual time at which it will happen. */
  schedule(options: ScheduleOptions): number {
    // Rounded up: a timer that fires before its time makes whoever waits for a deadline ask again for ever.
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

  /** The process does nothing for this long (stopped, starved, swapped out); what would happen in it happens afterwards, in its order. */
  pause(process: string, durationMs: number): void {
    this.#pausedUntil.set(process, this.#nowTicks + Math.ceil(durationMs * TICKS_PER_MS));
    this.record(`pause ${process}`);
  }

  /** A stream per owner: an event that one of them no longer has changes nothing for the others. */
  #tiesOf(owner: string): Random {
    const known = this.#ties.get(owner);
    if (known !== undefined) return known;
    const ties = this.random(`ties of ${owner}`);
    this.#ties.set(owner, ties);
    return ties;
  }

  /** Folds a fact (a commit, a delivered message, a container that started) into the trace hash. */
  record(fact: string): void {
    this.#trace.fold(`${this.#nowTicks} ${fact}`);
  }

  addOracle(oracle: Oracle): void {
    this.#oracles.push(oracle);
  }

  /** Ends the run with this error at the next step: for callbacks that nobody awaits. */
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

  /** Runs until `condition` holds; rejects when it does not within `deadlineMs` of virtual time. */
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
    // What was due earlier is also done earlier afterwards.
    this.#heap.push({ ...event, atTicks: untilTicks, tieBreak: -1, sequence: this.#sequence++ });
    return true;
  }

  #countStep({ atTicks, label }: SimEvent): void {
    this.#steps++;
    this.#stepsAtThisTime = atTicks === this.#nowTicks ? this.#stepsAtThisTime + 1 : 0;
    this.#nowTicks = atTicks;
    invariant(this.#stepsAtThisTime < MAX_STEPS_AT_ONE_TIME, 'virtual time stands still', { atTicks, label });
  }

  /** Lets every promise that can settle do so: one turn of the real event loop runs the whole microtask queue. */
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
