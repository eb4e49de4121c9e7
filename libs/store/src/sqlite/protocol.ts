import type { ChangeKind, Lineage, Revision, StoreKey } from '../port.ts';

/** One row of the change table. `writeId` is null in rows of versions that did not store generated ids. */
export interface ChangeRow {
  readonly revision: Revision;
  readonly kind: ChangeKind;
  readonly key: StoreKey;
  readonly value: string;
  readonly previousRevision: Revision;
  readonly createRevision: Revision;
  readonly writeId: string | null;
}

/**
 * The rows of a start by columns, in revision order. Copying them to another thread takes half as long as an object for
 * each row.
 */
export interface RowColumns {
  readonly revisions: readonly Revision[];
  readonly kinds: readonly ChangeKind[];
  readonly keys: readonly StoreKey[];
  readonly values: readonly string[];
  /** UTF-8 bytes of key and value together. */
  readonly textBytes: readonly number[];
  readonly previousRevisions: readonly Revision[];
  readonly createRevisions: readonly Revision[];
  readonly writeIds: readonly (string | null)[];
}

/** What is known of all rows of a start before they come. */
export interface LoadMarks {
  /** The revision of the last row. */
  readonly newest: Revision;
  readonly compacted: Revision;
}

/** A request to the commit thread. */
export type Request =
  | { readonly kind: 'commit'; readonly rows: readonly ChangeRow[] }
  | { readonly kind: 'history'; readonly after: Revision; readonly limit: number }
  | { readonly kind: 'markCompacted'; readonly upTo: Revision }
  | { readonly kind: 'trim' }
  /** Checks that the file is still the one that this thread opened and last wrote. */
  | { readonly kind: 'check' }
  /** Blocks the use of the data until an operator adopts them. */
  | { readonly kind: 'halt'; readonly reason: string }
  | { readonly kind: 'close' };

/** Messages of the commit thread at start-up, in this order: rows (any number of times), then `opened`; or `failed`. */
export type StartMessage =
  | { readonly kind: 'rows'; readonly rows: RowColumns; readonly marks: LoadMarks }
  | { readonly kind: 'opened'; readonly opened: Opened }
  | { readonly kind: 'failed'; readonly failure: OpenFailure };

export interface Opened {
  readonly compacted: Revision;
  readonly lineage: Lineage;
}

/** The parameters of the thread. */
export interface ThreadStart {
  readonly directory: string;
  /** The name of the store when its file is new. */
  readonly incarnation: string;
}

export interface OpenFailure {
  readonly reason: 'halted' | 'inUse' | 'newerFormat' | 'foreign' | 'damaged' | 'unusable';
  readonly message: string;
}

/** One response per request, in the order of the requests. */
export type Response =
  | { readonly kind: 'done'; readonly rows?: readonly ChangeRow[]; readonly more?: boolean }
  /** Rolled back: nothing was written. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The file is not the one that was opened. Nothing was written to it, and the thread refuses all later requests. */
  | { readonly kind: 'replaced'; readonly message: string }
  /** The state of the database is uncertain. The thread refuses all later requests. */
  | { readonly kind: 'broken'; readonly message: string };
