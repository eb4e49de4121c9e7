import type { StoreKey } from '../port.ts';

/** Keys per chunk before it splits: small enough that an insert moves little, large enough that few chunks exist. */
const CHUNK_KEYS = 512;

export interface KeyRange {
  readonly prefix: string;
  /** Exclusive lower bound. */
  readonly after?: StoreKey | undefined;
  readonly limit?: number | undefined;
}

/** An ordered set of keys. Insert, delete and the start of a range cost O(log n); a range costs its length. */
export class SortedKeys {
  readonly #chunks: StoreKey[][] = [];

  add(key: StoreKey): void {
    const position = Math.max(0, this.#chunkFor(key));
    const chunk = this.#chunks[position];
    if (chunk === undefined) {
      this.#chunks.push([key]);
      return;
    }
    const at = lowerBound(chunk, key);
    if (chunk[at] === key) return;
    chunk.splice(at, 0, key);
    if (chunk.length > CHUNK_KEYS) this.#chunks.splice(position + 1, 0, chunk.splice(splitPoint(at, chunk.length)));
  }

  delete(key: StoreKey): void {
    const position = this.#chunkFor(key);
    const chunk = this.#chunks[position];
    if (chunk === undefined) return;
    const at = lowerBound(chunk, key);
    if (chunk[at] !== key) return;
    chunk.splice(at, 1);
    if (chunk.length === 0) this.#chunks.splice(position, 1);
  }

  /** Returns the keys of the range in order, and whether the limit cut it. */
  range({ prefix, after, limit = Number.POSITIVE_INFINITY }: KeyRange): { keys: StoreKey[]; more: boolean } {
    const start = after !== undefined && after >= prefix ? after : prefix;
    const keys: StoreKey[] = [];
    let position = Math.max(0, this.#chunkFor(start));
    let at = lowerBound(this.#chunks[position] ?? [], start);
    for (; position < this.#chunks.length; position++, at = 0) {
      const chunk = this.#chunks[position] ?? [];
      for (; at < chunk.length; at++) {
        const key = chunk[at];
        if (key === undefined || key === after) continue;
        if (!key.startsWith(prefix)) return { keys, more: false };
        if (keys.length >= limit) return { keys, more: true };
        keys.push(key);
      }
    }
    return { keys, more: false };
  }

  /** Returns the index of the last chunk whose first key is not above `key`; -1 when all are above. */
  #chunkFor(key: StoreKey): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.[0] ?? '') <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Loading in key order only appends. Full chunks are left as they are, which halves the number of chunks. */
function splitPoint(insertedAt: number, length: number): number {
  return insertedAt === length - 1 ? length - 1 : length >>> 1;
}

function lowerBound(chunk: readonly StoreKey[], key: StoreKey): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((chunk[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
