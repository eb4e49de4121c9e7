import type { ChangeKind, Revision, StoreKey } from '@holdfast/store';

/** The user who wrote, and the program. */
export interface Author {
  readonly user: string;
  readonly userAgent: string;
  readonly verb: string;
  readonly subresource: string;
  readonly manager: string;
}

/** One write of an author. */
export interface Authorship {
  readonly author: Author;
  /** The prefix of what was written. */
  readonly resource: string;
  /** '' = the client and its trace named none. */
  readonly requestId: string;
  /** The newest revision that was sent to this client: of the resource that it wrote, and of any. 0 = nothing. */
  readonly seenOfResource: Revision;
  readonly seenOfAny: Revision;
}

/** One committed change, or a refused write, which changed nothing. */
export interface HistoryRecord {
  readonly revision: Revision;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: ChangeKind | 'refused';
  readonly key: StoreKey;
  /** Revision of the object before; 0 for `created`. */
  readonly previousRevision: Revision;
  /** The stored text; '' where contents are left out. For `deleted` it is the last state. */
  readonly value: string;
  /** The state before, in the first record of a batch about this object. Else ''. */
  readonly before: string;
  /** The reason of a refused write. */
  readonly reason: string;
  readonly authorship: Authorship | undefined;
}

/** The changes after `from` up to `last`. */
export interface HistoryBatch {
  readonly from: Revision;
  readonly last: Revision;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly records: readonly HistoryRecord[];
}
