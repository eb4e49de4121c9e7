import { harmless } from '@holdfast/platform/harmless';
import { arrayAt, at, textAt } from './resources.ts';

const GAP = 3;

/**
 * Formats a `Table` of the API as lines of text (none when it is empty); columns of lower priority only when `wide`.
 */
export function formatTable(
  table: unknown,
  { wide, namespaces, paint }: { readonly wide: boolean; readonly namespaces: boolean; readonly paint?: CellPaint },
): readonly string[] {
  const columns = arrayAt(table, 'columnDefinitions').flatMap((column, index) =>
    wide || at(column, 'priority') === 0 ? [{ index, head: textAt(column, 'name').toUpperCase() }] : [],
  );
  const rows = arrayAt(table, 'rows').map((row) => {
    const cells = arrayAt(row, 'cells');
    const own = columns.map(({ index }) => textOfCell(cells[index]));
    return namespaces ? [textAt(at(at(row, 'object'), 'metadata'), 'namespace'), ...own] : own;
  });
  if (rows.length === 0) return [];
  const head = columns.map((column) => column.head);
  return inLines([namespaces ? ['NAMESPACE', ...head] : head, ...rows], paint);
}

const textOfCell = (cell: unknown): string =>
  typeof cell === 'string' ? harmless(cell) : cell === null || cell === undefined ? '<none>' : JSON.stringify(cell);

/** Colours a cell of a row; the first row is the head. */
export type CellPaint = (text: string, row: number, column: number) => string;

export function inLines(rows: readonly (readonly string[])[], paint: CellPaint = (text) => text): readonly string[] {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)) + GAP);
  return rows.map((cells, row) =>
    cells
      .map((cell, column) => {
        const room = column === cells.length - 1 ? 0 : Math.max(0, (widths[column] ?? 0) - cell.length);
        return `${paint(cell, row, column)}${' '.repeat(room)}`;
      })
      .join('')
      .trimEnd(),
  );
}
