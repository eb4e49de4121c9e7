import type { Random } from '@holdfast/platform';

/** What keeps one component from the rest of its cluster. */
export interface Trouble {
  /** What it sends to the API server is lost. */
  readonly toApi?: true;
  /** What the API server sends to it is lost. */
  readonly fromApi?: true;
  /** It hears nothing of the bus. */
  readonly bus?: true;
  /** Its process is stopped. */
  readonly held?: true;
  /** The share that is lost, from 0 to 1. */
  readonly loss?: number;
  /** What is sent takes up to this long. */
  readonly delayMs?: number;
  /** Its disk has no room for anything new. */
  readonly diskFull?: true;
  /** What needs its disk takes up to this long. */
  readonly diskDelayMs?: number;
}

export type Direction = 'toApi' | 'fromApi';

/** The present troubles of one component. Those at one time add up. */
export class Gate {
  readonly #random: Random;
  readonly #troubles = new Set<Trouble>();
  #waiting: (() => void)[] = [];
  readonly #onBus = new Set<() => void>();
  #onWhole: (() => void)[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns what ends it, once. */
  begin(trouble: Trouble): () => void {
    this.#troubles.add(trouble);
    return () => {
      this.#troubles.delete(trouble);
      if (!this.has('held')) this.#release();
      this.#tellWhole();
      if (trouble.bus === true && !this.has('bus')) for (const heard of this.#onBus) heard();
    };
  }

  /** Resolves when the wire is whole in both directions, after it was cut. */
  whole(): Promise<void> {
    return new Promise((resolve) => this.#onWhole.push(resolve));
  }

  /** Calls `heard` whenever the bus is heard again. Returns what ends that. */
  onBus(heard: () => void): () => void {
    this.#onBus.add(heard);
    return () => void this.#onBus.delete(heard);
  }

  has(name: 'bus' | 'held' | 'diskFull' | Direction): boolean {
    for (const trouble of this.#troubles) if (trouble[name] === true) return true;
    return false;
  }

  /** Whether what is sent now in this direction is lost. */
  loses(direction: Direction): boolean {
    if (this.has(direction)) return true;
    for (const { loss = 0 } of this.#troubles) if (loss > 0 && this.#random.float() < loss) return true;
    return false;
  }

  /** How long what is sent now takes. */
  delayMs(): number {
    return this.#upTo('delayMs');
  }

  /** How long its disk takes now. */
  diskDelayMs(): number {
    return this.#upTo('diskDelayMs');
  }

  /** Runs it now, or in order when the process continues. */
  pass(run: () => void): void {
    if (this.has('held')) this.#waiting.push(run);
    else run();
  }

  passed(): Promise<void> {
    return new Promise((resolve) => this.pass(resolve));
  }

  #upTo(name: 'delayMs' | 'diskDelayMs'): number {
    let longest = 0;
    for (const trouble of this.#troubles) longest = Math.max(longest, trouble[name] ?? 0);
    return longest === 0 ? 0 : this.#random.float() * longest;
  }

  #tellWhole(): void {
    if (this.has('toApi') || this.has('fromApi')) return;
    const waiting = this.#onWhole;
    this.#onWhole = [];
    for (const run of waiting) run();
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const run of waiting) run();
  }
}

/** One life of a component, from its start to its end or its kill. */
export interface Life {
  readonly gate: Gate;
  /** Aborted: its process was killed. Nothing of it reaches anybody any more. */
  readonly over: AbortSignal;
}
