/** First in, first out, with constant cost at both ends (`Array.shift` moves every element). */
export interface Fifo<T> {
  push(item: T): void;
  shift(): T | undefined;
  size(): number;
}

/** Consumed slots are given back when they are at least this many and half of the array. */
const COMPACT_FROM = 64;

export function createFifo<T>(): Fifo<T> {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    push: (item) => {
      items.push(item);
    },
    shift: () => {
      if (head === items.length) return undefined;
      const item = items[head];
      items[head++] = undefined;
      if (head >= COMPACT_FROM && head * 2 >= items.length) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
    size: () => items.length - head,
  };
}
