import { BinaryHeap } from '@holdfast/platform';

/** Keys with the time at which they become due. Each key is present once, with the earliest requested time. */
export interface DelayHeap {
  push(key: string, dueMs: number): void;
  nextDueMs(): number | undefined;
  /** Removes and returns every key due at `nowMs`, earliest first, equal times in the order of their push. */
  popDue(nowMs: number): readonly string[];
  delete(key: string): void;
}

interface Entry {
  readonly key: string;
  readonly dueMs: number;
  readonly order: number;
}

/** Replaced and deleted entries stay in the heap until they surface. `live` holds the current entry of each key. */
export function createDelayHeap(): DelayHeap {
  const heap = new BinaryHeap<Entry>(before);
  const live = new Map<string, Entry>();
  let pushes = 0;
  const dropStale = (): Entry | undefined => {
    for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
      if (live.get(top.key) === top) return top;
      heap.pop();
    }
    return undefined;
  };
  return {
    push: (key, dueMs) => {
      const present = live.get(key);
      if (present !== undefined && present.dueMs <= dueMs) return;
      const entry = { key, dueMs, order: pushes++ };
      live.set(key, entry);
      heap.push(entry);
    },
    nextDueMs: () => dropStale()?.dueMs,
    popDue: (nowMs) => {
      const due: string[] = [];
      for (let top = dropStale(); top !== undefined && top.dueMs <= nowMs; top = dropStale()) {
        heap.pop();
        live.delete(top.key);
        due.push(top.key);
      }
      return due;
    },
    delete: (key) => {
      live.delete(key);
    },
  };
}

function before(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
