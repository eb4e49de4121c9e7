/** Chooses the next flow: levels by weight, and the flows of a level evenly. Pure: no clock, no waiting. */
export interface Flow {
  readonly level: string;
  readonly key: string;
  /** When all levels wait, each is given work in proportion to this. The same for all flows of a level. */
  readonly weight: number;
  /** Maximum number of waiting items. */
  readonly waitingMax: number;
}

interface Waiting<T> {
  readonly flow: Flow;
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
  /** The starting account of a flow without history. */
  virtual = 0;
  /** Grows with each level that begins to wait. */
  wokenAs = 0;
}

/** Consumed items are released in batches of this size. */
const COMPACTED_FROM = 64;

/** Names of levels come and go with their configuration; those that rest are forgotten when they are so many. */
const LEVELS_MAX = 256;

/** Debts are forgotten when they are so many. */
const DEBTS_MAX = 1_024;

/** One queue per flow. The next item is from the flow that was served least, so sending more gains nothing. */
export class FairQueue<T> {
  readonly #levels = new Map<string, LevelQueue<T>>();
  #size = 0;
  #woken = 0;

  get size(): number {
    return this.#size;
  }

  /** Levels that are remembered. */
  get levels(): number {
    return this.#levels.size;
  }

  lengthOf({ level, key }: Flow): number {
    const waiting = this.#levels.get(level)?.waiting.get(key);
    return waiting === undefined ? 0 : waiting.items.length - waiting.head;
  }

  push(flow: Flow, item: T): void {
    const queue = this.#levelOf(flow.level);
    if (queue.size === 0) this.#wake(queue);
    queue.size += 1;
    this.#size += 1;
    const known = queue.waiting.get(flow.key);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const spent = Math.max(queue.virtual, queue.debts.get(flow.key) ?? 0);
    queue.debts.delete(flow.key);
    queue.waiting.set(flow.key, { flow, items: [item], head: 0, spent });
  }

  /** Items that are held in memory for a flow, those that were taken included. */
  keptOf({ level, key }: Flow): number {
    return this.#levels.get(level)?.waiting.get(key)?.items.length ?? 0;
  }

  next(): { readonly flow: Flow; readonly item: T } | undefined {
    let first: LevelQueue<T> | undefined;
    for (const queue of this.#levels.values()) {
      if (queue.size > 0 && (first === undefined || isBefore(queue, first))) first = queue;
    }
    return first === undefined ? undefined : this.#nextOf(first);
  }

  /** The next item of this flow, which stays in its queue. */
  firstOf({ level, key }: Flow): T | undefined {
    const waiting = this.#levels.get(level)?.waiting.get(key);
    return waiting?.items[waiting.head];
  }

  /** Takes the next item of this flow, whichever flow was served least. */
  takeOf({ level, key }: Flow): T | undefined {
    const queue = this.#levels.get(level);
    const waiting = queue?.waiting.get(key);
    return queue === undefined || waiting === undefined ? undefined : this.#take(queue, waiting);
  }

  /** Charges the flow for work. */
  charge({ level, key, weight }: Flow, cost: number): void {
    const queue = this.#levelOf(level);
    queue.spent += cost / weight;
    const waiting = queue.waiting.get(key);
    if (waiting !== undefined) {
      waiting.spent += cost;
      return;
    }
    if (queue.debts.size >= DEBTS_MAX) queue.debts.clear();
    queue.debts.set(key, Math.max(queue.virtual, queue.debts.get(key) ?? 0) + cost);
  }

  #levelOf(name: string): LevelQueue<T> {
    const known = this.#levels.get(name);
    if (known !== undefined) return known;
    if (this.#levels.size >= LEVELS_MAX) {
      for (const [other, { size }] of this.#levels) if (size === 0) this.#levels.delete(other);
    }
    const level = new LevelQueue<T>();
    this.#levels.set(name, level);
    return level;
  }

  /** A level that did not wait has saved nothing up, and owes nothing: it is the next among equals. */
  #wake(woken: LevelQueue<T>): void {
    woken.wokenAs = ++this.#woken;
    let least: number | undefined;
    for (const { size, spent } of this.#levels.values()) {
      if (size > 0 && (least === undefined || spent < least)) least = spent;
    }
    if (least !== undefined) woken.spent = least;
  }

  #nextOf(queue: LevelQueue<T>): { readonly flow: Flow; readonly item: T } | undefined {
    let first: Waiting<T> | undefined;
    for (const each of queue.waiting.values()) if (first === undefined || each.spent < first.spent) first = each;
    if (first === undefined) return undefined;
    queue.virtual = Math.max(queue.virtual, first.spent);
    const item = this.#take(queue, first);
    return item === undefined ? undefined : { flow: first.flow, item };
  }

  #take(queue: LevelQueue<T>, from: Waiting<T>): T | undefined {
    const item = from.items[from.head++];
    queue.size -= 1;
    this.#size -= 1;
    if (from.head >= COMPACTED_FROM && 2 * from.head >= from.items.length) {
      from.items.splice(0, from.head);
      from.head = 0;
    }
    if (from.head === from.items.length) rest(queue, from);
    return item;
  }
}

const isBefore = <T>(a: LevelQueue<T>, b: LevelQueue<T>): boolean =>
  a.spent < b.spent || (a.spent === b.spent && a.wokenAs > b.wokenAs);

function rest<T>(queue: LevelQueue<T>, { flow: { key }, spent }: Waiting<T>): void {
  queue.waiting.delete(key);
  if (queue.debts.size >= DEBTS_MAX) queue.debts.clear();
  queue.debts.set(key, spent);
}
