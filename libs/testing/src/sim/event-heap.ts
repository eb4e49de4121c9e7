/** One thing that will happen at a virtual time. */
export interface SimEvent {
  /** Virtual time, whole ticks. */
  readonly atTicks: number;
  /** Drawn from the seed: the order of events at the same time is part of what a seed explores. */
  readonly tieBreak: number;
  readonly sequence: number;
  /** What is folded into the trace hash. */
  readonly label: string;
  /** The process in which it happens, where that matters. */
  readonly at?: string | undefined;
  readonly fire: () => void;
  /** False once the component that asked for it has crashed or cancelled: the event is dropped. */
  readonly wanted: () => boolean;
}

/** A binary min-heap by (time, tie-break, sequence). */
export class EventHeap {
  readonly #items: SimEvent[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): SimEvent | undefined {
    return this.#items[0];
  }

  push(event: SimEvent): void {
    this.#items.push(event);
    let child = this.#items.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#less(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  pop(): SimEvent | undefined {
    const top = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) {
      this.#items[0] = last;
      this.#sink();
    }
    return top;
  }

  #sink(): void {
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      const right = left + 1;
      let smallest = parent;
      if (left < this.#items.length && this.#less(left, smallest)) smallest = left;
      if (right < this.#items.length && this.#less(right, smallest)) smallest = right;
      if (smallest === parent) return;
      this.#swap(parent, smallest);
      parent = smallest;
    }
  }

  #less(a: number, b: number): boolean {
    const x = this.#items[a];
    const y = this.#items[b];
    if (x === undefined || y === undefined) return false;
    if (x.atTicks !== y.atTicks) return x.atTicks < y.atTicks;
    if (x.tieBreak !== y.tieBreak) return x.tieBreak < y.tieBreak;
    return x.sequence < y.sequence;
  }

  #swap(a: number, b: number): void {
    const x = this.#items[a];
    const y = this.#items[b];
    if (x === undefined || y === undefined) return;
    this.#items[a] = y;
    this.#items[b] = x;
  }
}
