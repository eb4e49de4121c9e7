import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { LiveTable, type Newest } from '../state/live-table.ts';
import { oncePerFrame } from '../state/machine.ts';
import type { TableModel } from '../state/table.ts';
import { useShell } from './shell.tsx';

export interface Live {
  readonly table: LiveTable;
  /** Grows at most once for each frame. */
  readonly tick: Signal<number>;
}

/** Follows a collection while the component is shown, or shows it as of the chosen moment. */
export function useLiveTable(path: string, query: Readonly<Record<string, string>> = {}, newest?: Newest): Live {
  const shell = useShell();
  const { api, machine } = shell;
  const tick = useSignal(0);
  const at = shell.at.value;
  const collection = `${path}?${JSON.stringify(query)}`;
  const begin = (before?: TableModel): LiveTable => {
    const changed = oncePerFrame(machine, () => {
      tick.value++;
    });
    const shown = before === undefined ? {} : { before };
    const bounded = newest === undefined ? {} : { newest };
    return new LiveTable({ api, path, query, at, pause: machine.pause, changed, ...shown, ...bounded });
  };
  const [current, setCurrent] = useState(() => ({ collection, at, table: begin() }));
  if (current.collection !== collection || current.at !== at) {
    const before = current.collection === collection ? current.table.model : undefined;
    setCurrent({ collection, at, table: begin(before) });
  }
  useEffect(() => {
    void current.table.run();
    return () => current.table.stop();
  }, [current.table]);
  return { table: current.table, tick };
}
