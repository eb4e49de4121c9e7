/** Keys with the time at which they become due. A key is in it once, at the earliest time asked for. */
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

/** Replaced and deleted entries stay in the heap until they surface: `live` tells which one counts. */
export function createDelayHeap(): DelayHeap {
  const heap: Entry[] = [];
  const live = new Map<string, Entry>();
  let pushes = 0;
  const dropStale = (): Entry | undefined => {
    for (let top = heap[0]; top !== undefined; top = heap[0]) {
      if (live.get(top.key) === top) return top;
      removeTop(heap);
    }
    return undefined;
  };
  return {
    push: (key, dueMs) => {
      const present = live.get(key);
      if (present !== undefined && present.dueMs <= dueMs) return;
      const entry = { key, dueMs, order: pushes++ };
      live.set(key, entry);
      insert(heap, entry);
    },
    nextDueMs: () => dropStale()?.dueMs,
    popDue: (nowMs) => {
      const due: string[] = [];
      for (let top = dropStale(); top !== undefined && top.dueMs <= nowMs; top = dropStale()) {
        removeTop(heap);
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

function insert(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const parentAt = (at - 1) >> 1;
    const parent = heap[parentAt];
    if (parent === undefined || !before(entry, parent)) break;
    heap[at] = parent;
    at = parentAt;
  }
  heap[at] = entry;
}

function removeTop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const child = smallerChild(heap, at);
    if (child === undefined || !before(child.entry, last)) break;
    heap[at] = child.entry;
    at = child.at;
  }
  heap[at] = last;
}

function smallerChild(heap: readonly Entry[], at: number): { at: number; entry: Entry } | undefined {
  const left = heap[2 * at + 1];
  if (left === undefined) return undefined;
  const right = heap[2 * at + 2];
  if (right !== undefined && before(right, left)) return { at: 2 * at + 2, entry: right };
  return { at: 2 * at + 1, entry: left };
}
