import type { ChangeKind, Lineage, Revision, StoreKey } from '../port.ts';

/** One row of the change table. `writeId` is null in rows of versions that did not store ids of their own making. */
export interface ChangeRow {
  readonly revision: Revision;
  readonly kind: ChangeKind;
  readonly key: StoreKey;
  readonly value: string;
  readonly previousRevision: Revision;
  readonly createRevision: Revision;
  readonly writeId: string | null;
}

/** What is asked of the commit thread. */
export type Request =
  | { readonly kind: 'commit'; readonly rows: readonly ChangeRow[] }
  | { readonly kind: 'history'; readonly after: Revision; readonly limit: number }
  | { readonly kind: 'markCompacted'; readonly upTo: Revision }
  | { readonly kind: 'trim' }
  /** Is the file still the one that was opened, as this thread has left it? */
  | { readonly kind: 'check' }
  /** The data may not be used until they were adopted. */
  | { readonly kind: 'halt'; readonly reason: string }
  | { readonly kind: 'close' };

/** What the commit thread says at start-up, in this order: rows (any number of times), then `opened`; or `failed`. */
export type StartMessage =
  | { readonly kind: 'rows'; readonly rows: readonly ChangeRow[] }
  | { readonly kind: 'opened'; readonly opened: Opened }
  | { readonly kind: 'failed'; readonly failure: OpenFailure };

export interface Opened {
  readonly compacted: Revision;
  readonly lineage: Lineage;
}

/** What the thread is started with. */
export interface ThreadStart {
  readonly directory: string;
  /** The name of the store when its file is new. */
  readonly incarnation: string;
}

export interface OpenFailure {
  readonly reason: 'halted' | 'inUse' | 'newerFormat' | 'foreign' | 'damaged' | 'unusable';
  readonly message: string;
}

/** One answer per request, in the order of the requests. */
export type Response =
  | { readonly kind: 'done'; readonly rows?: readonly ChangeRow[]; readonly more?: boolean }
  /** Rolled back: nothing of it was written. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The file is not the one that was opened: nothing was written to it, and the thread does nothing more. */
  | { readonly kind: 'replaced'; readonly message: string }
  /** The database is in doubt; the thread does nothing more. */
  | { readonly kind: 'broken'; readonly message: string };
