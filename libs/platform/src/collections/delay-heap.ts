import { BinaryHeap } from './binary-heap.ts';

interface Entry {
  readonly key: string;
  readonly dueMs: number;
  readonly order: number;
}

/** Keys with the time at which they become due. Each key is present once, with the earliest requested time. */
export class DelayHeap {
  /** A replaced entry stays here until it surfaces. */
  readonly #heap = new BinaryHeap<Entry>(isBefore);
  /** The current entry of each key. */
  readonly #live = new Map<string, Entry>();
  #pushes = 0;

  get size(): number {
    return this.#live.size;
  }

  push(key: string, dueMs: number): void {
    const present = this.#live.get(key);
    if (present !== undefined && present.dueMs <= dueMs) return;
    const entry = { key, dueMs, order: this.#pushes++ };
    this.#live.set(key, entry);
    this.#heap.push(entry);
  }

  nextDueMs(): number | undefined {
    return this.#peek()?.dueMs;
  }

  /** Removes and returns every key due at `nowMs`, earliest first, equal times in the order of their push. */
  popDue(nowMs: number): readonly string[] {
    const due: string[] = [];
    for (let top = this.#peek(); top !== undefined && top.dueMs <= nowMs; top = this.#peek()) {
      this.#heap.pop();
      this.#live.delete(top.key);
      due.push(top.key);
    }
    return due;
  }

  #peek(): Entry | undefined {
    for (let top = this.#heap.peek(); top !== undefined; top = this.#heap.peek()) {
      if (this.#live.get(top.key) === top) return top;
      this.#heap.pop();
    }
    return undefined;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
