import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { pluralTitle } from '../state/kinds.ts';
import { type Filter, listHash, pathOf, type Route } from '../state/routes.ts';
import { shownColumns, visibleRows } from '../state/rows-view.ts';
import { Filters } from './filters.tsx';
import { LiveBadge } from './live-badge.tsx';
import { RowTable } from './row-table.tsx';
import { useShell } from './shell.tsx';
import { useLiveTable } from './use-live-table.tsx';

/** Any kind as a table with the server's columns. */
export function ListPage({ route }: { readonly route: Extract<Route, { page: 'list' }> }): VNode {
  const shell = useShell();
  const { resource, filter } = route;
  const kind = shell.kindOf(resource);
  const [isWide, setWide] = useState(false);
  const { table, tick } = useLiveTable(pathOf(resource, filter.namespace), selectorsOf(filter));
  const stamp = tick.value;
  const rows = useMemo(() => visibleRows(table.model, filter.words), [table, stamp, filter.words]);
  const columns = useMemo(() => shownColumns(table.model, rows, isWide), [rows, isWide]);
  const change = (part: Partial<Filter>): void =>
    shell.machine.place.replace(listHash(resource, { ...filter, ...part }));
  return (
    <div class="page list">
      <div class="title">
        <h1>{kind === undefined ? resource.plural : pluralTitle(kind)}</h1>
        <span class="sum">{countText(rows.length, table.model.rows.size)}</span>
        <LiveBadge tables={[table]} />
      </div>
      <Filters filter={filter} isNamespaced={kind?.isNamespaced ?? true} onChange={change}>
        <label class="check">
          <input type="checkbox" checked={isWide} onChange={(event) => setWide(event.currentTarget.checked)} />
          All columns
        </label>
      </Filters>
      <RowTable resource={resource} columns={columns} rows={rows} isLoading={table.liveness === 'loading'} />
    </div>
  );
}

const selectorsOf = ({ labels, fields }: Filter): Readonly<Record<string, string>> => ({
  ...(labels === '' ? {} : { labelSelector: labels }),
  ...(fields === '' ? {} : { fieldSelector: fields }),
});

const countText = (shown: number, all: number): string =>
  shown === all ? all.toLocaleString('en') : `${shown.toLocaleString('en')} of ${all.toLocaleString('en')}`;
