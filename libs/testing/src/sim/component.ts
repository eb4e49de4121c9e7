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
import { SIMULATION_EPOCH_MS, type SimulationKernel } from './kernel.ts';

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

/**
 * A process that can crash. Each boot is a new incarnation with a new machine. Timers of a dead incarnation never fire,
 * so its memory is lost.
 */
export class SimulatedProcess {
  readonly name: string;
  readonly #kernel: SimulationKernel;
  readonly #clockError: ClockError;
  #incarnation = 0;

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

  #clock(alive: () => boolean): Clock {
    const timer = (delayMs: number, fire: () => void): Timer => {
      let pending = true;
      const expire = (): void => {
        pending = false;
        fire();
      };
      this.#kernel.schedule({
        delayMs,
        label: `timer ${this.name}`,
        owner: this.name,
        at: this.name,
        fire: expire,
        wanted: () => pending && alive(),
      });
      return {
        cancel: () => {
          pending = false;
        },
      };
    };
    return {
      now: () => SIMULATION_EPOCH_MS + this.#kernel.elapsedMs + this.#clockError.skewMs,
      monotonic: () => this.#kernel.elapsedMs,
      timer,
      sleep: (delayMs, signal) => sleepOn(timer, delayMs, signal),
    };
  }
}
