import { invariant } from '@holdfast/platform';
import { bytesBudget, type Keeper, type ParsedBudget } from './parsed-budget.ts';

const BLOCK_BYTES = 256 * 1024;
/** A longer content would leave much of a block empty. */
const CONTENT_BYTES_MAX = BLOCK_BYTES / 8;

/** Where no content is. */
export const NOWHERE = -1;

/**
 * Contents side by side in large blocks: for 150,000 objects a buffer each would take three times the memory of their
 * bytes. An owner keeps two numbers, the place and the period. When the budget is full all contents are dropped and the
 * next period begins. So blocks whose contents are mostly out of date cannot stay.
 */
export class PackedBytes implements Keeper {
  readonly #budget: ParsedBudget;
  #blocks: Buffer[] = [];
  /** Bytes in the last block. */
  #used = BLOCK_BYTES;
  #period = 1;

  constructor(budget: ParsedBudget) {
    this.#budget = budget;
  }

  /** Places of other periods hold nothing. */
  get period(): number {
    return this.#period;
  }

  /** Copies the content. Returns its place in the current period, or `NOWHERE` for a long one. */
  add(content: Uint8Array): number {
    if (content.length > CONTENT_BYTES_MAX) return NOWHERE;
    if (this.#used + content.length > BLOCK_BYTES) this.#open();
    this.#blocks.at(-1)?.set(content, this.#used);
    const place = (this.#blocks.length - 1) * BLOCK_BYTES + this.#used;
    this.#used += content.length;
    return place;
  }

  /** Returns the content without a copy. `place` must be of the current period. */
  at(place: number, length: number): Buffer {
    const block = this.#blocks[Math.floor(place / BLOCK_BYTES)];
    invariant(block !== undefined, 'a place of this period has a block', { place });
    const from = place % BLOCK_BYTES;
    return block.subarray(from, from + length);
  }

  /** All or nothing. */
  shrinkTo(bytes: number): number {
    const kept = this.#blocks.length * BLOCK_BYTES;
    if (kept <= bytes) return kept;
    this.#blocks = [];
    this.#used = BLOCK_BYTES;
    this.#period += 1;
    this.#budget.leave(this);
    return 0;
  }

  #open(): void {
    // A full budget may drop all blocks now.
    this.#budget.keep(BLOCK_BYTES);
    this.#budget.join(this);
    this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
    this.#used = 0;
  }
}

/** The protobuf encodings of this process's long lists. */
export const packedEncodings = new PackedBytes(bytesBudget);
