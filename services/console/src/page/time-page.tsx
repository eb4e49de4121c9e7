import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { parse } from '../state/times.ts';
import { Changes } from './changes.tsx';
import { useShell } from './shell.tsx';

const SPANS = [
  ['1 minute', 60_000],
  ['5 minutes', 300_000],
  ['15 minutes', 900_000],
  ['All that is kept', 0],
] as const;

/** The writes before the chosen moment: what changed, by whom, from what to what. */
export function TimePage(): VNode {
  const shell = useShell();
  const [span, setSpan] = useState<number>(300_000);
  const [words, setWords] = useState('');
  const [isAll, setAll] = useState(false);
  const at = shell.at.value;
  const oldest = shell.range.value?.oldest.time ?? '';
  const fromTime = useMemo(() => {
    if (span === 0) return oldest;
    const begin = shell.machine.iso((at === '' ? shell.time() : (parse(at) ?? 0)) - span);
    return begin < oldest ? oldest : begin;
  }, [span, at, oldest]);
  return (
    <div class="page">
      <div class="title">
        <h1>What changed</h1>
        <span class="sum">{at === '' ? 'until now' : 'until the chosen moment'}</span>
      </div>
      <div class="filters">
        <label>
          In the last
          <select value={span} onChange={(event) => setSpan(Number(event.currentTarget.value))}>
            {SPANS.map(([title, ms]) => (
              <option key={title} value={ms}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Search writers and objects
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} />
          Leases and events, too
        </label>
      </div>
      <Changes path="" fromTime={fromTime} hidesNoise={!isAll} words={words} tick={0} />
    </div>
  );
}
