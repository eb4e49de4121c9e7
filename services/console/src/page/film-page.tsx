import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { type FilmsFound, isOver, readFilms } from '../state/films.ts';
import { parse } from '../state/times.ts';
import { FilmView } from './film-view.tsx';
import { useShell } from './shell.tsx';
import { type Followed, useFollowed } from './use-followed.tsx';

const SPANS = [
  ['10 minutes', 600_000],
  ['30 minutes', 1_800_000],
  ['hour', 3_600_000],
] as const;
/** How often the end of a loss that is not over is read again. */
const FOLLOW_MS = 3_000;
/** How often the page looks for a new loss: reading the changes of some minutes costs the server something. */
const LOOK_MS = 15_000;

/** What happened when nodes were lost: the causes as lanes with durations, and in a sentence what is not done yet. */
export function FilmPage({ node }: { readonly node: string }): VNode {
  const [sinceMs, setSince] = useState<number>(SPANS[0][1]);
  const { found, failure } = useFilms(node, sinceMs);
  return (
    <div class="page films">
      <div class="title">
        <h1>{node === '' ? 'Lost nodes' : `Losses of ${node}`}</h1>
        {node !== '' && <a href="#/film">All nodes</a>}
      </div>
      <div class="filters">
        <label>
          In the last
          <select value={sinceMs} onChange={(event) => setSince(Number(event.currentTarget.value))}>
            {SPANS.map(([title, ms]) => (
              <option key={ms} value={ms}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      {failure !== '' && (
        <p class="refusal" role="alert">
          {failure}
        </p>
      )}
      {found === undefined && failure === '' && <p class="empty big">Loading</p>}
      {found?.isCut === true && (
        <p class="muted">Only the first changes of this time were read: choose a shorter one.</p>
      )}
      {found?.films.length === 0 && (
        <p class="empty big">
          {node === '' ? 'No node' : node} was {node === '' ? '' : 'not '}lost in this time.
        </p>
      )}
      {found?.films.map((film) => (
        <FilmView key={`${film.node}/${film.lostMs}`} film={film} />
      ))}
      {found !== undefined && found.left > 0 && <p class="muted">{found.left} older losses are not shown.</p>}
    </div>
  );
}

/** A loss that is not over is read again soon. */
function useFilms(node: string, sinceMs: number): Followed<FilmsFound> {
  const { api, at } = useShell();
  const untilMs = parse(at.value);
  const until = untilMs === undefined ? {} : { untilMs };
  return useFollowed({
    key: `${node}/${sinceMs}`,
    read: (signal) => readFilms(api, { node, sinceMs, signal, ...until }),
    again: (found) => (found?.films.every(isOver) === false ? FOLLOW_MS : LOOK_MS),
  });
}
