import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { LiveTable } from '../state/live-table.ts';
import { oncePerFrame } from '../state/machine.ts';
import { useShell } from './shell.tsx';

export interface Live {
  readonly table: LiveTable;
  /** Grows at most once for each frame. */
  readonly tick: Signal<number>;
}

/** Follows a collection while the component is shown. */
export function useLiveTable(path: string, query: Readonly<Record<string, string>> = {}): Live {
  const { api, machine } = useShell();
  const tick = useSignal(0);
  const address = `${path}?${JSON.stringify(query)}`;
  const begin = (): LiveTable => {
    const changed = oncePerFrame(machine, () => {
      tick.value++;
    });
    return new LiveTable({ api, path, query, pause: machine.pause, changed });
  };
  const [current, setCurrent] = useState(() => ({ address, table: begin() }));
  if (current.address !== address) {
    const next = { address, table: begin() };
    setCurrent(next);
  }
  useEffect(() => {
    void current.table.run();
    return () => current.table.stop();
  }, [current.table]);
  return { table: current.table, tick };
}
