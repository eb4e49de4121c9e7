import { type Film, filmsOf, readMaterial } from '@holdfast/client/film';
import type { Api } from './api.ts';
import { readingClientOf } from './reading-client.ts';

export interface FilmsAsked {
  /** Empty: of all nodes. */
  readonly node: string;
  readonly sinceMs: number;
  /** The end of the film; absent: now. */
  readonly untilMs?: number;
  readonly signal?: AbortSignal;
}

export interface FilmsFound {
  /** The newest first. */
  readonly films: readonly Film[];
  /** Losses that are older than those. */
  readonly left: number;
  /** Changes were left out: there were too many. */
  readonly isCut: boolean;
}

/** More on one page would not be read. */
const FILMS_MAX = 10;

/** The losses of nodes in this time. */
export async function readFilms(api: Api, { node, sinceMs, untilMs, signal }: FilmsAsked): Promise<FilmsFound> {
  const read = (path: string, query = new URLSearchParams()): Promise<unknown> =>
    api.json(path, { query: Object.fromEntries(query), ...(signal === undefined ? {} : { signal }) });
  const wanted = node === '' ? undefined : node;
  const { material, isCut } = await readMaterial(
    { read, client: readingClientOf(api) },
    { sinceMs, node: wanted, ...(untilMs === undefined ? {} : { untilMs }) },
  );
  const all = filmsOf(material, wanted);
  const films = all.slice(-FILMS_MAX).toReversed();
  return { films, left: all.length - films.length, isCut };
}

/** Nothing of it changes any more. */
export const isOver = ({ backMs, waits }: Film): boolean => backMs !== undefined && waits.length === 0;
