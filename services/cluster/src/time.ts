import { type Clock, createSystemClock, nextTurn } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { badOption } from './options.ts';
import type { Requests } from './requests.ts';
import { toMilliseconds } from './time-steps.ts';

export { Requests } from './requests.ts';

/** A request that takes longer than this, while nothing else happens, waits for virtual time. */
const PATIENCE_MS = 1_000;
const LOOK_AGAIN_MS = 2;
/** Turns of the event loop in which components can end without time. */
const END_TURNS = 4;
/** Clients of other processes that never stop to ask do not stop time. */
const OUTSIDE_PATIENCE_MS = 10_000;

export interface TimeOptions {
  readonly isVirtual: boolean;
  /** Where virtual time begins. */
  readonly startMs: number | undefined;
  readonly requests: Requests;
  readonly settleMs: number;
}

/** The time of a cluster. Virtual time moves only in `advance`. */
export class ClusterTime {
  readonly clock: Clock;
  readonly #virtual: VirtualClock | undefined;
  readonly #options: TimeOptions;
  readonly #real = createSystemClock();
  #seenOutside = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: TimeOptions) {
    this.#options = options;
    this.#virtual = options.isVirtual ? createVirtualClock(options.startMs) : undefined;
    this.clock = this.#virtual ?? this.#real;
  }

  get isVirtual(): boolean {
    return this.#virtual !== undefined;
  }

  /**
   * One call after the other. Rejects for a duration that cannot be read, and on real time. Aborted: time stands still
   * where it is.
   */
  advance(duration: string | number, signal?: AbortSignal): Promise<void> {
    const run = this.#last.then(() => this.#advance(duration, signal));
    this.#last = run.catch(() => {});
    return run;
  }

  /** Resolves when nothing happens any more before time passes. On real time: after the present turn of the event loop. */
  async settle(): Promise<void> {
    if (this.#virtual === undefined) return nextTurn();
    await this.#inside();
    if (this.#options.requests.outside !== this.#seenOutside) await this.#outside();
  }

  /**
   * Waits for the end of components. Virtual time passes for what they still wait for, such as the start of a pod; nobody else
   * would move it any more.
   */
  async end(ending: Promise<void>): Promise<void> {
    const virtual = this.#virtual;
    if (virtual === undefined) return ending;
    let isOver = false;
    const noted = ending.finally(() => {
      isOver = true;
    });
    noted.catch(() => {});
    for (let turns = 1; !isOver; turns += 1) {
      await nextTurn();
      if (turns % END_TURNS !== 0) continue;
      if (virtual.pendingTimers() > 0) virtual.fireNext(Infinity);
      else await this.#real.sleep(LOOK_AGAIN_MS);
    }
    return noted;
  }

  async #advance(duration: string | number, signal: AbortSignal | undefined): Promise<void> {
    const ms = toMilliseconds(duration);
    const virtual = this.#virtual;
    if (virtual === undefined) {
      throw badOption('the cluster runs on real time', "Start it with clock: 'virtual' to move its time.");
    }
    const untilMs = virtual.monotonic() + ms;
    await this.settle();
    while (signal?.aborted !== true && virtual.fireNext(untilMs)) await this.settle();
  }

  /** Components and requests rest: two turns of the event loop pass without a request. */
  async #inside(): Promise<void> {
    const { requests } = this.#options;
    const giveUpAt = this.#real.monotonic() + PATIENCE_MS;
    for (let turns = 0, seen = requests.begun; ; turns += 1) {
      await nextTurn();
      const isQuiet = requests.begun === seen && requests.underWay === 0;
      if (isQuiet && turns > 0) return;
      if (requests.begun !== seen) turns = 0;
      seen = requests.begun;
      if (requests.underWay > 0 && turns > 100) await this.#patience(giveUpAt);
    }
  }

  async #patience(giveUpAt: number): Promise<void> {
    if (this.#real.monotonic() > giveUpAt) this.#options.requests.giveUpWaiting();
    else await this.#real.sleep(LOOK_AGAIN_MS);
  }

  /** Clients of other processes were told something, or asked for something: they get real time to answer to it. */
  async #outside(): Promise<void> {
    const { requests, settleMs } = this.#options;
    const giveUpAt = this.#real.monotonic() + OUTSIDE_PATIENCE_MS;
    while (requests.outside !== this.#seenOutside && this.#real.monotonic() < giveUpAt) {
      this.#seenOutside = requests.outside;
      await this.#real.sleep(settleMs);
      await this.#inside();
    }
    this.#seenOutside = requests.outside;
  }
}
