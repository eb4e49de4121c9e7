/**
 * Whose turn it is. Pure: no clock, no waiting. What flow control of Kubernetes calls priority levels are two here, and every user is one
 * flow; a classifier of another kind only has to name other levels and flows.
 */
export type Level = 'system' | 'workload';

/** When all wait, the system is given so many times as much as all others together: it is never starved, and starves nobody. */
const WEIGHTS: Readonly<Record<Level, number>> = { system: 4, workload: 1 };

export interface Flow {
  readonly level: Level;
  readonly key: string;
}

interface Waiting<T> {
  readonly items: T[];
  head: number;
  /** Work done for this flow, on the scale of its level. */
  spent: number;
}

class LevelQueue<T> {
  readonly waiting = new Map<string, Waiting<T>>();
  /** Work of flows that do not wait, where it is more than others have been given. */
  readonly debts = new Map<string, number>();
  size = 0;
  /** Work of the whole level, divided by its weight. */
  spent = 0;
  /** What a flow that has nothing on its account begins with. */
  virtual = 0;
}

/** So many items that were taken are let go together. */
const COMPACTED_FROM = 64;

/** Debts are forgotten when they are so many. */
const DEBTS_MAX = 1_024;

/** Queues of those who wait, one for each flow. The next is one of the flow that was given least, so nobody gains by sending more. */
export class FairQueue<T> {
  readonly #levels: Readonly<Record<Level, LevelQueue<T>>> = { system: new LevelQueue(), workload: new LevelQueue() };

  get size(): number {
    return this.#levels.system.size + this.#levels.workload.size;
  }

  lengthOf({ level, key }: Flow): number {
    const waiting = this.#levels[level].waiting.get(key);
    return waiting === undefined ? 0 : waiting.items.length - waiting.head;
  }

  push({ level, key }: Flow, item: T): void {
    const queue = this.#levels[level];
    if (queue.size === 0) this.#wake(level);
    queue.size += 1;
    const known = queue.waiting.get(key);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const spent = Math.max(queue.virtual, queue.debts.get(key) ?? 0);
    queue.debts.delete(key);
    queue.waiting.set(key, { items: [item], head: 0, spent });
  }

  /** Items that are held in memory for a flow, those that were taken included. */
  keptOf({ level, key }: Flow): number {
    return this.#levels[level].waiting.get(key)?.items.length ?? 0;
  }

  next(): { readonly flow: Flow; readonly item: T } | undefined {
    const { system, workload } = this.#levels;
    if (system.size === 0 && workload.size === 0) return undefined;
    const isSystem = workload.size === 0 || (system.size > 0 && system.spent <= workload.spent);
    return this.#nextOf(isSystem ? 'system' : 'workload');
  }

  /** So much was done for the flow. */
  charge({ level, key }: Flow, cost: number): void {
    const queue = this.#levels[level];
    queue.spent += cost / WEIGHTS[level];
    const waiting = queue.waiting.get(key);
    if (waiting !== undefined) {
      waiting.spent += cost;
      return;
    }
    if (queue.debts.size >= DEBTS_MAX) queue.debts.clear();
    queue.debts.set(key, Math.max(queue.virtual, queue.debts.get(key) ?? 0) + cost);
  }

  /** A level that did not wait has saved nothing up, and owes nothing. */
  #wake(level: Level): void {
    const { system, workload } = this.#levels;
    const [queue, other] = level === 'system' ? [system, workload] : [workload, system];
    if (other.size > 0) queue.spent = other.spent;
  }

  #nextOf(level: Level): { readonly flow: Flow; readonly item: T } | undefined {
    const queue = this.#levels[level];
    let first: readonly [string, Waiting<T>] | undefined;
    for (const entry of queue.waiting) if (first === undefined || entry[1].spent < first[1].spent) first = entry;
    if (first === undefined) return undefined;
    const [key, waiting] = first;
    const item = waiting.items[waiting.head++];
    queue.size -= 1;
    if (waiting.head >= COMPACTED_FROM && 2 * waiting.head >= waiting.items.length) {
      waiting.items.splice(0, waiting.head);
      waiting.head = 0;
    }
    queue.virtual = Math.max(queue.virtual, waiting.spent);
    if (waiting.head === waiting.items.length) this.#rest(queue, key, waiting);
    return item === undefined ? undefined : { flow: { level, key }, item };
  }

  #rest(queue: LevelQueue<T>, key: string, { spent }: Waiting<T>): void {
    queue.waiting.delete(key);
    if (queue.debts.size >= DEBTS_MAX) queue.debts.clear();
    queue.debts.set(key, spent);
  }
}
