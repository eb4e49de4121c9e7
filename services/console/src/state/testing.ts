import { type Column, type ServerTable, TableModel } from './table.ts';

type TestRow = NonNullable<ServerTable['rows']>[number];

interface RowOptions {
  readonly namespace?: string;
  readonly status?: string;
  readonly createdAt?: string;
  readonly cells?: readonly string[];
  readonly deletedAt?: string;
}

/** A row of a table as the server sends it. */
export function row(name: string, options: RowOptions = {}): TestRow {
  const { namespace = 'default', status = 'Running', createdAt = '2026-01-01T00:00:00Z', deletedAt } = options;
  return {
    cells: options.cells ?? [name, status],
    object: {
      metadata: {
        name,
        namespace,
        uid: `uid-${name}`,
        creationTimestamp: createdAt,
        ...(deletedAt === undefined ? {} : { deletionTimestamp: deletedAt }),
      },
    },
  };
}

/** A name that ends with `!` is a column for wide tables. */
export const columns = (names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name: name.replace('!', ''), type: 'string', priority: name.endsWith('!') ? 1 : 0 }));

export function tableOf(names: readonly string[], rows: readonly TestRow[]): TableModel {
  const model = new TableModel();
  model.takePage({ metadata: { resourceVersion: '10' }, columnDefinitions: columns(names), rows }, true);
  return model;
}

const POD_COLUMNS = ['Name', 'Ready', 'Status', 'Restarts', 'Node'];

export const podRow = (name: string, [ready, status, node]: readonly [string, string, string]): TestRow =>
  row(name, { cells: [name, ready, status, '0', node] });

export const podTable = (rows: readonly TestRow[]): TableModel => tableOf(POD_COLUMNS, rows);

export const nodeTable = (nodes: Readonly<Record<string, string>>): TableModel =>
  tableOf(
    ['Name', 'Status'],
    Object.entries(nodes).map(([name, status]) => row(name, { namespace: '', status })),
  );
