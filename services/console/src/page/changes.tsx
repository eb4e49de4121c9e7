import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import {
  type Change,
  type Difference,
  fieldOf,
  hashOf,
  isNoise,
  readChanges,
  valueText,
  writerOf,
} from '../state/history.ts';
import { clockTime, parse } from '../state/times.ts';
import { useShell } from './shell.tsx';

export interface ChangesProps {
  /** Of these objects; empty: of all. */
  readonly path: string;
  /** Empty: since the beginning of the history. */
  readonly fromTime?: string;
  readonly hidesNoise?: boolean;
  readonly words?: string;
  readonly tick: number;
}

/** What changed between two moments, by whom, field by field. */
export function Changes({ path, fromTime = '', hidesNoise = false, words = '', tick }: ChangesProps): VNode {
  const shell = useShell();
  const [known, setKnown] = useState<{ changes: readonly Change[]; failure: string }>();
  const oldest = shell.range.value?.oldest.time ?? '';
  const at = shell.at.value;
  const keeps = (change: Change): boolean => !(hidesNoise && isNoise(change));
  useEffect(() => {
    const stop = new AbortController();
    readChanges(shell.api, { path, fromTime: fromTime || oldest, toTime: at, keeps, signal: stop.signal }).then(
      (changes) => setKnown({ changes, failure: '' }),
      (error: unknown) =>
        !stop.signal.aborted &&
        setKnown({ changes: [], failure: error instanceof Error ? error.message : String(error) }),
    );
    return () => stop.abort();
  }, [path, fromTime, at, tick, hidesNoise]);
  if (known === undefined) return <p class="empty big">Loading</p>;
  const shown = known.changes.filter((each) => hasWords(each, words));
  return (
    <>
      {known.failure !== '' && <p class="refusal">{known.failure}</p>}
      {shown.length === 0 && known.failure === '' && <p class="empty big">Nothing changed.</p>}
      <ol class="changes">
        {shown.map((change) => (
          <ChangeLine key={`${change.revision}/${change.object.name}`} change={change} />
        ))}
      </ol>
    </>
  );
}

function hasWords(change: Change, words: string): boolean {
  const text = `${writerOf(change)} ${change.object.resource} ${change.object.name} ${change.type}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function ChangeLine({ change }: { readonly change: Change }): VNode {
  const shell = useShell();
  const { object, type, diff = [] } = change;
  const href = hashOf(change, shell.kinds.value);
  const name = `${object.resource}/${object.name}`;
  return (
    <li class={`change ${type}`}>
      <time title={change.time}>{clockTime(parse(change.time) ?? 0)}</time>
      <span class="kind">{type}</span>
      <span class="what">{href === '' ? name : <a href={href}>{name}</a>}</span>
      <span class="muted who">
        {writerOf(change)}
        {change.by?.subresource !== undefined && change.by.subresource !== '' && ` (${change.by.subresource})`}
      </span>
      {change.reason !== undefined && <p class="muted">{change.reason}</p>}
      {diff.length > 0 && (
        <ul>
          {diff.map((each) => (
            <DifferenceLine key={each.path} difference={each} />
          ))}
          {change.diffCut === true && <li class="muted">and more</li>}
        </ul>
      )}
    </li>
  );
}

const DifferenceLine = ({ difference }: { readonly difference: Difference }): VNode => (
  <li>
    <code>{fieldOf(difference)}</code> {difference.from !== undefined && <del>{valueText(difference.from)}</del>}{' '}
    {difference.value !== undefined && <ins>{valueText(difference.value)}</ins>}
  </li>
);
