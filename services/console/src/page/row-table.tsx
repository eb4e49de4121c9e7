import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { nodeStateOf } from '../state/overview.ts';
import { stateOf } from '../state/pod-state.ts';
import { objectHash, type ResourceName } from '../state/routes.ts';
import { type ShownColumn, windowOf } from '../state/rows-view.ts';
import type { Row } from '../state/table.ts';
import { useShell } from './shell.tsx';

export interface RowTableProps {
  readonly resource: ResourceName;
  readonly columns: readonly ShownColumn[];
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
}

const ROW_HEIGHT = 34;

/** Draws only the rows in sight: 5,000 cost as much as 50. */
export function RowTable({ resource, columns, rows, isLoading }: RowTableProps): VNode {
  const shell = useShell();
  const box = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 900 });
  const look = (): void => {
    const { scrollTop: top = 0, clientHeight: height = 900 } = box.current ?? {};
    setSight((before) => (before.top === top && before.height === height ? before : { top, height }));
  };
  useEffect(look, []);
  const { first, end } = windowOf(sight.top, sight.height, ROW_HEIGHT, rows.length);
  const total = columns.reduce((sum, { width }) => sum + width, 0);
  const now = shell.shownTime;
  if (rows.length === 0) return <p class="empty big">{isLoading ? 'Loading' : 'There are none.'}</p>;
  return (
    // biome-ignore lint: a region that scrolls can be focused, so that its keys work.
    <div class="rows" ref={box} onScroll={look} tabIndex={0} role="region" aria-label="Objects">
      <table aria-rowcount={rows.length + 1} onKeyDown={moveRow}>
        <colgroup>
          {columns.map(({ title, width }) => (
            <col key={title} style={{ width: `${(100 * width) / total}%` }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map(({ title, about }) => (
              <th key={title} scope="col" title={about}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr class="gap" style={{ height: `${first * ROW_HEIGHT}px` }} />}
          {rows.slice(first, end).map((row, index) => (
            <tr key={row.key} aria-rowindex={first + index + 2}>
              {columns.map((column) => (
                <td key={column.title} title={column.text(row, now)}>
                  <CellView resource={resource} row={row} column={column} now={now} />
                </td>
              ))}
            </tr>
          ))}
          {end < rows.length && <tr class="gap" style={{ height: `${(rows.length - end) * ROW_HEIGHT}px` }} />}
        </tbody>
      </table>
    </div>
  );
}

interface CellProps {
  readonly resource: ResourceName;
  readonly row: Row;
  readonly column: ShownColumn;
  readonly now: number;
}

function CellView({ resource, row, column, now }: CellProps): VNode {
  const text = column.text(row, now);
  if (column.title === 'Name' || (column.title === 'Reason' && resource.plural === 'events')) {
    return <a href={objectHash(resource, row.namespace, row.name)}>{text}</a>;
  }
  if (column.title === 'Status' && resource.group === '')
    return <StatusCell resource={resource} row={row} text={text} />;
  return <>{text}</>;
}

function StatusCell({ resource, row, text }: { resource: ResourceName; row: Row; text: string }): VNode {
  if (resource.plural === 'pods') {
    const ready = String(row.cells[1] ?? '');
    const state = stateOf({ status: text, ready, isBound: text !== 'Pending', isDeleted: row.isDeleted });
    return (
      <>
        <span class={`tile ${state}`} aria-hidden="true" /> {text}
      </>
    );
  }
  return resource.plural === 'nodes' ? <span class={`node-state ${nodeStateOf(text)}`}>{text}</span> : <>{text}</>;
}

/** Arrow keys go from link to link. */
function moveRow(event: TargetedKeyboardEvent<HTMLTableElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('tbody a')];
  const next = links[links.indexOf(event.target as HTMLElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
