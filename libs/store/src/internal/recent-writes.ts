import { WRITE_IDS_PER_BUCKET } from '../limits.ts';
import type { Committed } from './operations.ts';

/** Answers by write id, in two buckets. The older bucket is dropped when the newer one is full. */
export class RecentWrites {
  #newer = new Map<string, Committed>();
  #older = new Map<string, Committed>();

  get(writeId: string | undefined): Committed | undefined {
    return writeId === undefined ? undefined : (this.#newer.get(writeId) ?? this.#older.get(writeId));
  }

  remember(writeId: string | undefined, result: Committed): void {
    if (writeId === undefined) return;
    if (this.#newer.size >= WRITE_IDS_PER_BUCKET) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(writeId, result);
  }
}
