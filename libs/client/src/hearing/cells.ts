import { parseTime } from '@holdfast/platform/time';
import { durationText } from '../film/names.ts';
import type { HistoryChange } from '../history/documents.ts';

/** `late`: it hears, but not all of it yet; `unknown`: nobody reports it; `none`: there is nothing to hear. */
export type HearingState = 'hears' | 'late' | 'silent' | 'unknown' | 'none';

export interface Cell {
  readonly state: HearingState;
  readonly text: string;
}

/** Changes that are unseen for longer make a party late. */
const LATE_MS = 20_000;

/** Whether a lease was renewed in time; `verdicts` are what was concluded since. */
export function heardCell(
  now: number,
  { renewedMs, durationMs }: { readonly renewedMs: number | undefined; readonly durationMs: number },
  verdicts: readonly string[],
): Cell {
  const told = verdicts.map((verdict) => `; ${verdict}`).join('');
  if (renewedMs === undefined) return { state: 'unknown', text: `has no lease${told}` };
  const age = Math.max(0, now - renewedMs);
  const isFresh = age <= durationMs && verdicts.length === 0;
  if (isFresh) return { state: 'hears', text: `${durationText(age)} ago` };
  return {
    state: 'silent',
    text: `silent for ${durationText(age)}, its lease is for ${durationText(durationMs)}${told}`,
  };
}

/** What a party had seen when it last wrote: the oldest change that it did not know then, and its age. */
export function knowsCell(changes: readonly HistoryChange[], user: string): Cell {
  const last = changes.findLast(({ by, seen }) => by?.user === user && seen?.any !== undefined);
  if (last === undefined) return { state: 'unknown', text: 'has not written of late' };
  const [seen, own] = [Number(last.seen?.any), Number(last.revision)];
  const unseen = changes.find(({ revision, by }) => {
    const number = Number(revision);
    return number > seen && number < own && by?.user !== user;
  });
  if (unseen === undefined) return { state: 'hears', text: 'knew all changes when it last wrote' };
  const age = Math.max(0, (parseTime(last.time) ?? 0) - (parseTime(unseen.time) ?? 0));
  return { state: age > LATE_MS ? 'late' : 'hears', text: `was ${durationText(age)} behind when it last wrote` };
}

/** By the checks of `/readyz?verbose`. */
export const storeCell = (readyz: string | undefined): Cell =>
  checkCell(readyz, { check: 'etcd', well: 'reaches it', ill: 'does not reach it' });

/** Whether the copy from which a server answers follows the store. */
export const feedCell = (readyz: string | undefined): Cell =>
  checkCell(readyz, { check: 'informer-sync', well: 'follows the store', ill: 'does not follow the store' });

function checkCell(
  readyz: string | undefined,
  { check, well, ill }: { readonly check: string; readonly well: string; readonly ill: string },
): Cell {
  if (readyz === undefined) return { state: 'unknown', text: 'not known' };
  const found = readyz
    .split('\n')
    .map((line) => /^\[([+-])\](\S+) (?:ok|failed)[:;, ]*(.*)$/.exec(line))
    .find((parts) => parts?.[2] === check);
  if (found === undefined || found === null) return { state: 'unknown', text: 'not reported' };
  const [, sign, , rest = ''] = found;
  const said = rest.trim().replace(/^\((.*)\)$/, '$1');
  if (sign === '-') return { state: 'silent', text: said || ill };
  return { state: 'hears', text: said || well };
}
