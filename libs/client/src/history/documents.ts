/** What the endpoint of the history answers; `docs/history.md` describes it. */
export const HISTORY_API = 'history.holdfast.io/v1';

/** One difference between two documents, named by a JSON pointer. */
export interface JsonDifference {
  readonly op: 'add' | 'remove' | 'replace';
  readonly path: string;
  readonly from?: unknown;
  readonly value?: unknown;
}

export interface HistoryPoint {
  readonly revision: string;
  readonly time: string;
}

export interface HistoryRange {
  readonly kind: 'HistoryRange';
  readonly apiVersion: typeof HISTORY_API;
  /** The oldest revision that can be listed. */
  readonly oldest: HistoryPoint;
  readonly newest: HistoryPoint;
  readonly retentionSeconds: number;
  readonly limitBytes: number;
  readonly usedBytes: number;
}

export interface HistoryAuthor {
  /** Absent: another API server wrote, or the server was killed. */
  readonly user?: string;
  readonly userAgent?: string;
  readonly verb?: string;
  readonly subresource?: string;
  readonly manager?: string;
  readonly requestID?: string;
}

export interface HistoryChange {
  readonly revision: string;
  readonly time: string;
  readonly type: 'created' | 'updated' | 'deleted' | 'refused';
  readonly object: {
    readonly group: string;
    readonly resource: string;
    readonly namespace?: string;
    readonly name: string;
  };
  readonly previousRevision?: string;
  readonly by?: HistoryAuthor;
  /** The newest revisions that were sent to the author before: of this resource, and of any. */
  readonly seen?: { readonly resource?: string; readonly any?: string };
  /** Why a write was refused. */
  readonly reason?: string;
  readonly diff?: readonly JsonDifference[];
  /** Only the first differences are shown. */
  readonly diffCut?: true;
}

export interface HistoryChangeList {
  readonly kind: 'HistoryChangeList';
  readonly apiVersion: typeof HISTORY_API;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly HistoryChange[];
}

/** The parameters that name a moment. */
export const MOMENTS = {
  from: { revision: 'from', time: 'fromTime' },
  to: { revision: 'to', time: 'toTime' },
} as const;
