import type { DatabaseSync } from 'node:sqlite';
import { invariant } from '@holdfast/platform/invariant';
import type { ChangeKind, Revision } from '../port.ts';
import { isChangeKind, wholeNumber } from './cells.ts';
import type { RowColumns } from './protocol.ts';

/** SQLite knows the lengths without reading the texts. */
const SELECT = `
  SELECT revision, kind, key, value, octet_length(key) + octet_length(value),
    previous_revision, create_revision, write_id
  FROM changes WHERE revision > ? ORDER BY revision LIMIT ?
`;

/** Yields all rows in revision order, at most `rows` at a time. */
export function* readColumns(database: DatabaseSync, rows: number): Generator<RowColumns> {
  const select = database.prepare(SELECT);
  select.setReturnArrays(true);
  let after: Revision = 0;
  for (;;) {
    const columns = columnsOf(select.all(after, rows) as unknown as readonly (readonly unknown[])[]);
    const last = columns.revisions.at(-1);
    if (last === undefined) return;
    yield columns;
    after = last;
  }
}

const columnsOf = (rows: readonly (readonly unknown[])[]): RowColumns => ({
  revisions: rows.map((row) => wholeNumber(row[0])),
  kinds: rows.map((row) => kindOf(row[1])),
  keys: rows.map((row) => textOf(row[2])),
  values: rows.map((row) => textOf(row[3])),
  textBytes: rows.map((row) => wholeNumber(row[4])),
  previousRevisions: rows.map((row) => wholeNumber(row[5])),
  createRevisions: rows.map((row) => wholeNumber(row[6])),
  writeIds: rows.map((row) => (typeof row[7] === 'string' ? row[7] : null)),
});

function kindOf(value: unknown): ChangeKind {
  invariant(isChangeKind(value), 'a row is a change', { value });
  return value;
}

function textOf(value: unknown): string {
  invariant(typeof value === 'string', 'a column holds a text');
  return value;
}
