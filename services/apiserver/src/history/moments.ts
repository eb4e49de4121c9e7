import { badRequest, expired, type StatusError } from '@holdfast/machinery';
import { dateOf, parseDuration, parseTime } from '@holdfast/platform';
import type { Revision } from '@holdfast/store';
import { readInt64 } from '../http/query-values.ts';
import type { History, Sight } from './history.ts';

/** A point of the history as a client names it. */
export type Moment = { readonly revision: Revision } | { readonly time: number };

export interface MomentNames {
  readonly revision: string;
  readonly time: string;
}

/** `undefined`: neither is there. */
export function readMoment(query: URLSearchParams, names: MomentNames): Moment | undefined {
  const [revision, time] = [query.get(names.revision) ?? '', query.get(names.time) ?? ''];
  if (revision !== '' && time !== '') throw badRequest(`${names.revision} and ${names.time} exclude each other`);
  if (revision !== '') return { revision: readRevision(revision, names.revision) };
  if (time === '') return undefined;
  const parsed = parseTime(time);
  if (parsed === undefined)
    throw badRequest(`${names.time} takes a time such as 2026-01-31T10:30:00Z, not ${JSON.stringify(time)}`);
  return { time: parsed };
}

function readRevision(text: string, name: string): Revision {
  const revision = readInt64(text);
  if (revision >= 0 && Number.isSafeInteger(revision)) return revision;
  throw badRequest(`${name} takes a revision, not ${JSON.stringify(text)}`);
}

/** `undefined`: there is none. */
export function readSince(query: URLSearchParams, now: number): number | undefined {
  const text = query.get('since') ?? '';
  if (text === '') return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 0) return now - ms;
  throw badRequest(`since takes a duration such as 10m, not ${JSON.stringify(text)}`);
}

/** The revision of a moment. Throws 410 when it is older than what is kept. */
export async function revisionAt(history: History, sight: Sight, moment: Moment): Promise<Revision> {
  if ('revision' in moment) {
    if (moment.revision < sight.oldest) throw tooOld(sight, `revision ${moment.revision}`);
    return moment.revision;
  }
  if (moment.time < sight.oldestAt) throw tooOld(sight, timeText(moment.time));
  return lastUntil(history, sight, moment.time);
}

/** The last revision until a time: exact, within one segment by its records. */
export async function lastUntil(history: History, sight: Sight, time: number): Promise<Revision> {
  let revision = sight.oldest;
  for (const segment of sight.segments) {
    const { head } = segment;
    if (head.beganAt > time) return revision;
    if (head.endedAt <= time) revision = head.last;
    else {
      for (const prefix of head.blocks.keys()) {
        for (const record of await history.recordsOf(segment, prefix)) {
          if (record.at <= time && record.revision > revision) revision = record.revision;
        }
      }
    }
  }
  for (const record of sight.records) if (record.at <= time && record.revision > revision) revision = record.revision;
  return revision;
}

export const tooOld = ({ oldest, oldestAt }: Pick<Sight, 'oldest' | 'oldestAt'>, what: string): StatusError =>
  expired(
    `the history of ${what} is no longer kept: the oldest revision that can be read is ${oldest}, of ${timeText(oldestAt)}`,
  );

export const timeText = (at: number): string => dateOf(at).toISOString();
