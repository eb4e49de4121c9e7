import {
  type Clock,
  createIds,
  createSilentLog,
  type Ids,
  type Log,
  type Random,
  sleepOn,
  type Timer,
} from '@holdfast/platform';
import { SIMULATION_EPOCH_MS, type SimulationKernel, TICK_MS } from './kernel.ts';

/** The injected machine of one simulated process. */
export interface SimulatedMachine {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  /** True until this incarnation has crashed. */
  readonly alive: () => boolean;
}

/** The difference between a component's wall clock and virtual time. */
export interface ClockError {
  skewMs: number;
}

/** A clock that runs slow or fast since a virtual time, at which it showed `shownMs`. */
interface ClockRate {
  readonly rate: number;
  readonly sinceMs: number;
  readonly shownMs: number;
}

const TRUE_RATE: ClockRate = { rate: 1, sinceMs: 0, shownMs: 0 };

/**
 * A process that can crash. Each boot is a new incarnation with a new machine. Timers of a dead incarnation never fire,
 * so its memory is lost.
 */
export class SimulatedProcess {
  readonly name: string;
  readonly #kernel: SimulationKernel;
  readonly #clockError: ClockError;
  #incarnation = 0;
  #pace = TRUE_RATE;

  constructor(kernel: SimulationKernel, name: string, clockError: ClockError = { skewMs: 0 }) {
    this.#kernel = kernel;
    this.name = name;
    this.#clockError = clockError;
  }

  /** Returns a fresh machine for the next incarnation. The previous incarnation is dead from now on. */
  boot(log: Log = createSilentLog()): SimulatedMachine {
    const incarnation = ++this.#incarnation;
    const alive = (): boolean => this.#incarnation === incarnation;
    const random = this.#kernel.random(`${this.name}#${incarnation}`);
    return { name: this.name, clock: this.#clock(alive), random, ids: createIds(random), log, alive };
  }

  /** Memory and timers are lost. The simulator of the machine keeps what a real machine keeps (containers, files). */
  crash(): void {
    this.#incarnation++;
    this.#kernel.record(`crash ${this.name}`);
  }

  /** Its wall clock jumps forwards or backwards. The monotonic clock does not. */
  jumpClock(byMs: number): void {
    this.#clockError.skewMs += byMs;
    this.#kernel.record(`clock of ${this.name} jumps`);
  }

  /** Both clocks run at this rate from now on, and so do timers that run already. */
  setClockRate(rate: number): void {
    this.#pace = { rate, sinceMs: this.#kernel.elapsedMs, shownMs: this.#monotonic() };
    this.#kernel.record(`clock of ${this.name} runs at ${rate}`);
  }

  /** Rounded up like the time of a timer, so that nobody who was woken finds its deadline a fraction ahead. */
  #monotonic(): number {
    const { elapsedMs } = this.#kernel;
    const { rate, sinceMs, shownMs } = this.#pace;
    if (this.#pace === TRUE_RATE) return elapsedMs;
    return Math.ceil((shownMs + (elapsedMs - sinceMs) * rate) / TICK_MS) * TICK_MS;
  }

  #clock(alive: () => boolean): Clock {
    const timer = (delayMs: number, fire: () => void): Timer => {
      let pending = true;
      const dueMs = this.#monotonic() + delayMs;
      const wait = (restMs: number): void => {
        this.#kernel.schedule({
          delayMs: restMs / this.#pace.rate,
          label: `timer ${this.name}`,
          owner: this.name,
          at: this.name,
          fire: expire,
          wanted: () => pending && alive(),
        });
      };
      const expire = (): void => {
        // The clock has become slower since: no timer fires before its time on its own clock.
        const restMs = dueMs - this.#monotonic();
        if (this.#pace !== TRUE_RATE && restMs > TICK_MS) {
          wait(restMs);
          return;
        }
        pending = false;
        fire();
      };
      wait(delayMs);
      return {
        cancel: () => {
          pending = false;
        },
      };
    };
    return {
      now: () => SIMULATION_EPOCH_MS + this.#monotonic() + this.#clockError.skewMs,
      monotonic: () => this.#monotonic(),
      timer,
      sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
    };
  }
}
