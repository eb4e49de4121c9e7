import type { Change, Revision } from '../port.ts';
import { sizeOfChange } from './change-size.ts';

/** Revisions per counter: small against what is kept, large enough that few counters exist. */
const BUCKET_REVISIONS = 1_000;

/** How large the history after any revision is, to within one bucket. */
export class HistoryBytes {
  readonly #buckets = new Map<number, number>();

  add(change: Change): void {
    const bucket = Math.floor(change.revision / BUCKET_REVISIONS);
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + sizeOfChange(change));
  }

  dropUpTo(revision: Revision): void {
    for (const bucket of this.#buckets.keys()) {
      if ((bucket + 1) * BUCKET_REVISIONS <= revision) this.#buckets.delete(bucket);
    }
  }

  get total(): number {
    let total = 0;
    for (const bytes of this.#buckets.values()) total += bytes;
    return total;
  }
}
