import { type Column, cellText, type Row, type TableModel } from './table.ts';
import { ageOf } from './times.ts';

/** The rows that a table shows, in order. */
export function visibleRows(table: TableModel, words: string): readonly Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...table.rows.values()];
  const found = wanted.length === 0 ? rows : rows.filter((row) => wanted.every((word) => hasWord(row, word)));
  return found.sort((a, b) => (a.key === b.key ? 0 : a.key < b.key ? -1 : 1));
}

const hasWord = ({ namespace, cells }: Row, word: string): boolean =>
  namespace.includes(word) || cells.some((cell) => cell !== null && String(cell).toLowerCase().includes(word));

export interface ShownColumn {
  readonly title: string;
  readonly about: string;
  readonly text: (row: Row, now: number) => string;
  /** In characters. */
  readonly width: number;
}

const WIDTH_MIN = 7;
const WIDTH_MAX = 44;
/** Rows that are measured: more change little. */
const MEASURED_ROWS = 200;

/** The server's columns, after the namespace where there is one. */
export function shownColumns(table: TableModel, rows: readonly Row[], isWide: boolean): readonly ShownColumn[] {
  const measured = rows.slice(0, MEASURED_ROWS);
  const columns = table.columns
    .map((column, index) => [column, index] as const)
    .filter(([{ priority }]) => isWide || priority === 0)
    .map(([column, index]) => shown(column, textOf(column, index), measured));
  const namespaced = rows.some(({ namespace }) => namespace !== '');
  const namespace = { name: 'Namespace', type: 'string', priority: 0, description: 'The namespace of the object' };
  return namespaced ? [shown(namespace, (row) => row.namespace, measured), ...columns] : columns;
}

/** Ages grow while the page is open, so they are counted here. */
function textOf({ name, type }: Column, index: number): ShownColumn['text'] {
  const isAge = name === 'Age' && type !== 'integer';
  return isAge ? (row, now) => ageOf(row.createdAt, now) : (row) => cellText(row, index);
}

function shown({ name, description = '' }: Column, text: ShownColumn['text'], measured: readonly Row[]): ShownColumn {
  const longest = measured.reduce((most, row) => Math.max(most, text(row, 0).length), name.length);
  return { title: name, about: description, text, width: Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, longest)) };
}

export interface Window {
  readonly first: number;
  readonly end: number;
}

const OVERSCAN = 12;

/** The rows that are drawn: those in sight and a few around them. */
export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number): Window {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - OVERSCAN);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN);
  return { first: Math.min(first, end), end };
}
