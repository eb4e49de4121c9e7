import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type FilmsFound, isOver, readFilms } from '../state/films.ts';
import { parse } from '../state/times.ts';
import { FilmView } from './film-view.tsx';
import { useShell } from './shell.tsx';

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

interface Known {
  readonly found?: FilmsFound;
  readonly failure: string;
}

/** Reads again while something is not over; a moment of the past is read once. */
function useFilms(node: string, sinceMs: number): Known {
  const { api, machine, at } = useShell();
  const [known, setKnown] = useState<Known>({ failure: '' });
  const moment = at.value;
  useEffect(() => {
    const stop = new AbortController();
    const untilMs = parse(moment);
    const asked = { node, sinceMs, signal: stop.signal, ...(untilMs === undefined ? {} : { untilMs }) };
    const follow = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const next = await readFilms(api, asked).then(
          (found): Known => ({ found, failure: '' }),
          (error: unknown): Known => ({ failure: error instanceof Error ? error.message : String(error) }),
        );
        if (stop.signal.aborted) return;
        setKnown((before) => ({ ...before, ...next }));
        if (moment !== '') return;
        const isQuiet = next.found?.films.every(isOver) ?? true;
        await machine.pause(isQuiet ? LOOK_MS : FOLLOW_MS);
      }
    };
    void follow();
    return () => stop.abort();
  }, [node, sinceMs, moment]);
  return known;
}
