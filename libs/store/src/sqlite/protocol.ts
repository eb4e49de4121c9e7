import type { ChangeKind, Revision, StoreKey } from '../port.ts';

/** One row of the change table. `writeId` is null where the store invented it: nobody can repeat that. */
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
  | { readonly kind: 'close' };

/** What the commit thread says at start-up, in this order: rows (any number of times), then `opened`; or `failed`. */
export type StartMessage =
  | { readonly kind: 'rows'; readonly rows: readonly ChangeRow[] }
  | { readonly kind: 'opened'; readonly compacted: Revision }
  | { readonly kind: 'failed'; readonly failure: OpenFailure };

export interface OpenFailure {
  readonly reason: 'inUse' | 'newerFormat' | 'foreign' | 'damaged' | 'unusable';
  readonly message: string;
}

/** One answer per request, in the order of the requests. */
export type Response =
  | { readonly kind: 'done'; readonly rows?: readonly ChangeRow[]; readonly more?: boolean }
  /** Rolled back: nothing of it was written. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The database is in doubt; the thread does nothing more. */
  | { readonly kind: 'broken'; readonly message: string };
