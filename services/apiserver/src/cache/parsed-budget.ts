import { heapLimitBytes } from '@holdfast/platform/heap-limit';

/** Of the heap, for values that were parsed and are kept. */
const PART_OF_HEAP = 1 / 4;
/** A member or an element takes about so much beside its text: places in tables, an empty object. */
const BYTES_PER_VALUE = 64;
/** Shorter texts are not looked at: they count as if every tenth character began a value. */
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

/** Somebody who can say how much is kept, and let go of it. */
export interface Keeper {
  /** Lets go of values until about so many bytes of them are kept; answers how many are. */
  shrinkTo(bytes: number): number;
}

/**
 * Bounds the values that caches keep of their objects. Who keeps one says how large it is; nobody says when one goes, so a full budget is
 * counted again, and what is too much of it goes. All that goes can be parsed again.
 */
export class ParsedBudget {
  readonly #most: number;
  readonly #keepers = new Set<Keeper>();
  #kept = 0;
  #isShrinking = false;

  constructor(most: number) {
    this.#most = most;
  }

  join(keeper: Keeper): void {
    this.#keepers.add(keeper);
  }

  leave(keeper: Keeper): void {
    this.#keepers.delete(keeper);
  }

  keep(bytes: number): void {
    this.#kept += bytes;
    if (this.#kept > this.#most && !this.#isShrinking) this.#shrink();
  }

  #shrink(): void {
    this.#isShrinking = true;
    const part = this.#most / 2 / Math.max(1, this.#keepers.size);
    this.#kept = 0;
    for (const keeper of this.#keepers) this.#kept += keeper.shrinkTo(part);
    this.#isShrinking = false;
  }
}

/** That of this process. */
export const parsedBudget = new ParsedBudget(heapLimitBytes() * PART_OF_HEAP);
