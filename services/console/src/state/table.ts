/** What the server answers to `as=Table`. */
export interface ServerTable {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly columnDefinitions?: readonly Column[] | null;
  readonly rows?: readonly ServerRow[] | null;
}

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Above 0: only shown where there is room. */
  readonly priority: number;
}

export type Cell = string | number | boolean | null;

interface ServerRow {
  readonly cells: readonly Cell[];
  readonly object: { readonly metadata: RowMetadata };
}

interface RowMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A row as the console keeps it: field owners, the largest part of the metadata, are left out. */
export interface Row {
  /** `namespace/name` */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly cells: readonly Cell[];
  readonly createdAt: string;
  readonly isDeleted: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({});

export function rowOf({ cells, object: { metadata } }: ServerRow): Row {
  const { name = '', namespace = '' } = metadata;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid: metadata.uid ?? '',
    cells,
    createdAt: metadata.creationTimestamp ?? '',
    isDeleted: (metadata.deletionTimestamp ?? '') !== '',
    labels: metadata.labels ?? NO_LABELS,
  };
}

/**
 * The rows of one collection. Events change it in place and are counted; the view reads it once for each frame,
 * however many events came.
 */
export class TableModel {
  columns: readonly Column[] = [];
  revision = '';
  readonly rows = new Map<string, Row>();

  /** A page of a list; the first one begins anew. */
  takePage(page: ServerTable, isFirst: boolean): void {
    if (isFirst) this.rows.clear();
    if (page.columnDefinitions != null && page.columnDefinitions.length > 0) this.columns = page.columnDefinitions;
    this.revision = page.metadata?.resourceVersion ?? this.revision;
    for (const each of page.rows ?? []) {
      const row = rowOf(each);
      this.rows.set(row.key, row);
    }
  }

  /** Returns the keys that changed. */
  takeEvent({ type, object }: WatchEvent): readonly string[] {
    const table = object as ServerTable;
    this.revision = table.metadata?.resourceVersion ?? this.revision;
    if (type === 'BOOKMARK') return [];
    const rows = (table.rows ?? []).map(rowOf);
    for (const row of rows) {
      if (type === 'DELETED') this.rows.delete(row.key);
      else this.rows.set(row.key, row);
    }
    return rows.map(({ key }) => key);
  }

  /** Drops the oldest rows when there are twice as many, so that each is compared seldom. Returns whether it did. */
  keepNewest(rowsMax: number): boolean {
    if (this.rows.size <= 2 * rowsMax) return false;
    const oldestFirst = [...this.rows.values()].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
    for (const { key } of oldestFirst.slice(0, -rowsMax)) this.rows.delete(key);
    return true;
  }

  columnAt(name: string): number {
    return this.columns.findIndex((column) => column.name === name);
  }
}

/** The text of a cell, as `kubectl get` prints it. */
export const cellText = (row: Row | undefined, column: number): string => {
  const value = row?.cells[column];
  return value === undefined || value === null ? '' : String(value);
};
