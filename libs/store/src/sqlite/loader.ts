import { invariant } from '@holdfast/platform';
import { sizeOfText } from '../internal/change-size.ts';
import { HistoryBytes } from '../internal/history-bytes.ts';
import { ObjectTable } from '../internal/object-table.ts';
import type { Committed } from '../internal/operations.ts';
import { RecentWrites } from '../internal/recent-writes.ts';
import { RECENT_CHANGES } from '../limits.ts';
import type { Change, Revision } from '../port.ts';
import { isOwnWriteId } from './group-commit.ts';
import type { LoadMarks, RowColumns } from './protocol.ts';

export interface LoadedState {
  readonly table: ObjectTable;
  readonly recent: RecentWrites;
  /** The newest changes, contiguous up to the table's revision. */
  readonly changes: readonly Change[];
  /** Size of the whole kept history, including `changes`. */
  readonly bytes: HistoryBytes;
}

/**
 * Builds the state from the rows in revision order. Rows up to the compacted revision may have gaps and may be replaced
 * by later ones. Rows above it must be contiguous.
 */
export class Loader {
  readonly #table = new ObjectTable();
  readonly #recent = new RecentWrites();
  readonly #bytes = new HistoryBytes();
  readonly #results = new Map<string, Committed>();
  readonly #changes: Change[] = [];
  #last: Revision = 0;

  readonly take = (rows: RowColumns, { newest, compacted }: LoadMarks): void => {
    for (const [at, revision] of rows.revisions.entries()) {
      invariant(revision > this.#last, 'rows come in order', { revision, last: this.#last });
      this.#last = revision;
      const size = sizeOfText(rows.textBytes[at] ?? 0);
      // Old objects are far apart, and the sizes of a whole stretch of revisions are kept together.
      if (revision > compacted) this.#bytes.add(revision, size);
      this.#takeRow(rows, at, { size, isRecent: revision > newest - RECENT_CHANGES });
    }
  };

  finish(compacted: Revision): LoadedState {
    const revision = Math.max(compacted, this.#last);
    const changes = this.#changes.filter((change) => change.revision > compacted);
    invariant(changes.length === 0 || changes.at(-1)?.revision === revision, 'the history reaches the last change');
    for (const [index, change] of changes.entries()) {
      if (change.revision === revision - changes.length + 1 + index) continue;
      // Operators read this error, so it contains no object's text, which may hold a secret.
      throw new Error(`its history has a gap near revision ${change.revision}`);
    }
    this.#table.restoreRevision(revision);
    for (const [writeId, result] of this.#results) {
      if (result.firstRevision > compacted) this.#recent.remember(writeId, result);
    }
    return { table: this.#table, recent: this.#recent, changes, bytes: this.#bytes };
  }

  #takeRow(
    rows: RowColumns,
    at: number,
    { size, isRecent }: { readonly size: number; readonly isRecent: boolean },
  ): void {
    const { revision, key, value, writeId } = cellsOf(rows, at);
    if (isRecent) this.#keepChange(rows, at);
    if (rows.kinds[at] === 'deleted') this.#table.restoreDeletion(key);
    else {
      const createRevision = rows.createRevisions[at] ?? 0;
      this.#table.restore(Object.freeze({ key, value, revision, createRevision }), size);
    }
    if (writeId !== null && !isOwnWriteId(writeId)) this.#noteWriteId(writeId, revision);
  }

  /** The table still has the state before this change. */
  #keepChange(rows: RowColumns, at: number): void {
    const { revision, key, value, writeId } = cellsOf(rows, at);
    const kind = rows.kinds[at] ?? 'updated';
    const previousRevision = rows.previousRevisions[at] ?? 0;
    const before = this.#table.get(key);
    const isKnown = before !== undefined && before.revision === previousRevision;
    this.#changes.push(
      Object.freeze({
        revision,
        kind,
        key,
        value,
        previousRevision,
        ...(writeId === null ? {} : { writeId }),
        ...(isKnown ? { previousValue: before.value } : {}),
      }),
    );
  }

  #noteWriteId(writeId: string, revision: Revision): void {
    const firstRevision = this.#results.get(writeId)?.firstRevision ?? revision;
    this.#results.set(writeId, { outcome: 'committed', firstRevision, lastRevision: revision });
  }
}

const cellsOf = ({ revisions, keys, values, writeIds }: RowColumns, at: number) => ({
  revision: revisions[at] ?? 0,
  key: keys[at] ?? '',
  value: values[at] ?? '',
  writeId: writeIds[at] ?? null,
});
