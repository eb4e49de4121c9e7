import { cellText, type Row, type TableModel } from './table.ts';

export interface EventLine {
  readonly key: string;
  readonly reason: string;
  /** `pod/web-1` */
  readonly object: string;
  readonly message: string;
  readonly at: string;
  readonly isWarning: boolean;
}

/** The newest events, the newest first. */
export function latestEvents(table: TableModel, count: number): readonly EventLine[] {
  const at = {
    type: table.columnAt('Type'),
    reason: table.columnAt('Reason'),
    object: table.columnAt('Object'),
    message: table.columnAt('Message'),
  };
  const rows: Row[] = [];
  for (const row of table.rows.values()) keepNewest(rows, row, count);
  return rows.map((row) => ({
    key: row.key,
    reason: cellText(row, at.reason),
    object: cellText(row, at.object),
    message: cellText(row, at.message),
    at: row.createdAt,
    isWarning: cellText(row, at.type) === 'Warning',
  }));
}

/** Inserts in order; lists of thousands of events are not sorted for a dozen of them. */
function keepNewest(rows: Row[], row: Row, count: number): void {
  let place = rows.length;
  while (place > 0 && isNewer(row, rows[place - 1])) place--;
  if (place >= count) return;
  rows.splice(place, 0, row);
  if (rows.length > count) rows.pop();
}

const isNewer = (a: Row, b: Row | undefined): boolean => b === undefined || a.createdAt >= b.createdAt;
