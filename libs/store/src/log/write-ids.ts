import { invariant } from '@holdfast/platform';
import type { Committed } from '../internal/operations.ts';
import { WRITE_IDS_PER_BUCKET } from '../limits.ts';

type Remembered = readonly [id: string, firstRevision: number, lastRevision: number];

/** The revisions of the last writes by id, in two buckets; the older is dropped when the newer is full. */
export class WriteIds {
  #newer = new Map<string, Committed>();
  #older = new Map<string, Committed>();

  get(id: string): Committed | undefined {
    return this.#newer.get(id) ?? this.#older.get(id);
  }

  /** Invariant I4: a write id stands at one place of the history only. */
  remember(id: string, result: Committed): void {
    invariant(this.get(id) === undefined, 'a write id appears at one revision only', { id });
    if (this.#newer.size >= WRITE_IDS_PER_BUCKET) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(id, result);
  }

  toArrays(): readonly [older: readonly Remembered[], newer: readonly Remembered[]] {
    return [entriesOf(this.#older), entriesOf(this.#newer)];
  }

  restore(bucket: 'older' | 'newer', [id, firstRevision, lastRevision]: Remembered): void {
    const ids = bucket === 'older' ? this.#older : this.#newer;
    ids.set(id, { outcome: 'committed', firstRevision, lastRevision });
  }
}

function entriesOf(ids: ReadonlyMap<string, Committed>): readonly Remembered[] {
  return Array.from(ids, ([id, { firstRevision, lastRevision }]) => [id, firstRevision, lastRevision] as const);
}
