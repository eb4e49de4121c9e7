import { invariant } from '@holdfast/platform';
import { heapLimitBytes } from '@holdfast/platform/heap-limit';

/** Fraction of the heap for cached parsed values. */
const PART_OF_HEAP = 1 / 4;
/** Outside the heap, but sized as a fraction of it: the encoded bytes of objects for clients, JSON and protobuf. */
const BYTES_PART_OF_HEAP = 1 / 16;
/** A member or an element takes about so much beside its text: places in tables, an empty object. */
const BYTES_PER_VALUE = 64;
/** Shorter texts are not scanned: they count as if every tenth character began a value. */
const LOOKED_AT_FROM = 2_048;
const SHORT_TEXT_FACTOR = 1 + BYTES_PER_VALUE / 10;

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** About how much memory the value of a JSON text takes: thousands of empty objects take fourteen times their text. Pure. */
export function parsedBytes(text: string): number {
  if (text.length < LOOKED_AT_FROM) return text.length * SHORT_TEXT_FACTOR;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === COMMA || code === BRACKET || code === BRACE) values += 1;
  }
  return text.length + values * BYTES_PER_VALUE;
}

/** A holder of cached values that can count and drop them. */
export interface Keeper {
  /** Lets go of values until about so many bytes of them are kept; answers how many are. */
  shrinkTo(bytes: number): number;
}

/**
 * Limits the cached parsed values. A holder reports the size of each value but not its removal. So a full budget is
 * recounted, and the excess is dropped. All of it can be parsed again.
 */
export class ParsedBudget {
  readonly #most: number;
  /** Weak: a cache that nobody uses any more and that was never stopped does not stay because of its budget. */
  readonly #keepers = new Set<WeakRef<Keeper>>();
  readonly #refs = new WeakMap<Keeper, WeakRef<Keeper>>();
  #kept = 0;
  #isShrinking = false;

  constructor(most: number) {
    this.#most = most;
  }

  join(keeper: Keeper): void {
    if (this.#refs.has(keeper)) return;
    const ref = new WeakRef(keeper);
    this.#refs.set(keeper, ref);
    this.#keepers.add(ref);
  }

  leave(keeper: Keeper): void {
    const ref = this.#refs.get(keeper);
    if (ref !== undefined) this.#keepers.delete(ref);
    this.#refs.delete(keeper);
  }

  keep(bytes: number): void {
    invariant(bytes >= 0, 'a kept value takes memory', { bytes });
    this.#kept += bytes;
    if (this.#kept > this.#most && !this.#isShrinking) this.#shrink();
  }

  #shrink(): void {
    this.#isShrinking = true;
    const part = this.#most / 2 / Math.max(1, this.#keepers.size);
    this.#kept = 0;
    for (const ref of this.#keepers) {
      const keeper = ref.deref();
      if (keeper === undefined) this.#keepers.delete(ref);
      else this.#kept += keeper.shrinkTo(part);
    }
    this.#isShrinking = false;
  }
}

/** Those of this process. */
export const parsedBudget = new ParsedBudget(heapLimitBytes() * PART_OF_HEAP);
export const bytesBudget = new ParsedBudget(heapLimitBytes() * BYTES_PART_OF_HEAP);
