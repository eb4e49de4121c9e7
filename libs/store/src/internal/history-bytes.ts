import type { Revision } from '../port.ts';

/** Revisions per bucket: small compared with the kept history, large enough that there are few buckets. */
const BUCKET_REVISIONS = 1_000;

interface Bucket {
  readonly sizes: Uint32Array;
  total: number;
}

/** The exact size of the kept history. Costs four bytes per change. */
export class HistoryBytes {
  readonly #buckets = new Map<number, Bucket>();
  #total = 0;

  /** `size` is what `sizeOfChange` returns for the change of this revision. */
  add(revision: Revision, size: number): void {
    const number = Math.floor(revision / BUCKET_REVISIONS);
    let bucket = this.#buckets.get(number);
    if (bucket === undefined) {
      bucket = { sizes: new Uint32Array(BUCKET_REVISIONS), total: 0 };
      this.#buckets.set(number, bucket);
    }
    bucket.sizes[revision % BUCKET_REVISIONS] = size;
    bucket.total += size;
    this.#total += size;
  }

  dropUpTo(revision: Revision): void {
    const last = Math.floor(revision / BUCKET_REVISIONS);
    for (const [number, bucket] of this.#buckets) {
      if (number < last) {
        this.#buckets.delete(number);
        this.#total -= bucket.total;
      } else if (number === last) this.#dropFront(bucket, (revision % BUCKET_REVISIONS) + 1);
    }
  }

  get total(): number {
    return this.#total;
  }

  #dropFront(bucket: Bucket, end: number): void {
    const { sizes } = bucket;
    let dropped = 0;
    for (let i = 0; i < end; i++) dropped += sizes[i] ?? 0;
    sizes.fill(0, 0, end);
    bucket.total -= dropped;
    this.#total -= dropped;
  }
}
