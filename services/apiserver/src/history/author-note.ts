import { AUTHOR_NOTE_CHARS_MAX, AUTHORS_AHEAD_MAX, HISTORY_KEY_CHARS_MAX, HISTORY_TEXT_CHARS_MAX } from '../limits.ts';
import type { RefusedWrite } from './open-batch.ts';
import type { Author, Authorship } from './record.ts';

/** The revisions from `first` to `last`, and who wrote them. */
export interface Written {
  readonly first: number;
  readonly last: number;
  readonly authorship: Authorship;
}

/** What one API server tells the others. */
export interface AuthorNote {
  /** The server that wrote. */
  readonly from: string;
  /** Counts the notes of this server: what changes nothing must not be taken twice. */
  readonly number: number;
  /** Names the store without its secret: revisions of another one mean something else. */
  readonly lineage: string;
  readonly written: readonly Written[];
  readonly refused: readonly RefusedWrite[];
}

/** About what an entry takes in a text, its author left out. */
export const writtenChars = ({ authorship: { resource, requestId } }: Written): number =>
  resource.length + requestId.length + NUMBERS_CHARS;

/** About what a refused write takes, with its author. */
export const refusedChars = ({ key, reason, authorship: { author, resource, requestId } }: RefusedWrite): number =>
  key.length + reason.length + resource.length + requestId.length + authorText(author).length + NUMBERS_CHARS;

/** The text of an author in a note, and what tells authors apart. */
export const authorText = ({ user, userAgent, verb, subresource, manager }: Author): string =>
  JSON.stringify([user, userAgent, verb, subresource, manager]);

const NUMBERS_CHARS = 100;

/**
 * The same author writes many revisions: each is in a text once. Nothing of the objects is in it; refused writes have
 * their names.
 */
export function composeNote({ written, refused, ...head }: AuthorNote): string {
  const authors = new Map<string, number>();
  const authorship = ({ author, resource, requestId, ...seen }: Authorship): readonly (string | number)[] => {
    const key = authorText(author);
    const index = authors.get(key) ?? authors.size;
    authors.set(key, index);
    return [index, resource, requestId, seen.seenOfResource, seen.seenOfAny];
  };
  const writes = written.map((each) => [each.first, each.last, ...authorship(each.authorship)]);
  const refusals = refused.map((each) => [each.key, each.reason, ...authorship(each.authorship)]);
  const known = [...authors.keys()].map((key): unknown => JSON.parse(key));
  return JSON.stringify({ ...head, authors: known, writes, refused: refusals });
}

/** Undefined: no note of this version. */
export function readNote(text: string): AuthorNote | undefined {
  if (text.length > 2 * AUTHOR_NOTE_CHARS_MAX) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  // API servers before refused writes were told do not count, either.
  const { from, lineage, number = 0, authors, writes, refused: refusals = [] } = value as Record<string, unknown>;
  if (!isText(from) || !isText(lineage) || !isRevision(number)) return undefined;
  if (!Array.isArray(authors) || !Array.isArray(writes) || !Array.isArray(refusals)) return undefined;
  const known = authors.map(readAuthor);
  const written = writes.map((entry) => readWritten(entry, known));
  const refused = refusals.map((entry) => readRefused(entry, known));
  if (!written.every((each) => each !== undefined) || !refused.every((each) => each !== undefined)) return undefined;
  return { from, number, lineage, written, refused };
}

function readAuthor(entry: unknown): Author | undefined {
  if (!Array.isArray(entry) || entry.length !== AUTHOR_FIELDS || !entry.every(isText)) return undefined;
  const [user = '', userAgent = '', verb = '', subresource = '', manager = ''] = entry;
  return { user, userAgent, verb, subresource, manager };
}

const AUTHOR_FIELDS = 5;

function readWritten(entry: unknown, known: readonly (Author | undefined)[]): Written | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [first, last, ...rest] = entry as readonly unknown[];
  const authorship = readAuthorship(rest, known);
  if (authorship === undefined || !isRevision(first) || !isRevision(last)) return undefined;
  if (last < first || last - first > AUTHORS_AHEAD_MAX) return undefined;
  return { first, last, authorship };
}

function readRefused(entry: unknown, known: readonly (Author | undefined)[]): RefusedWrite | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [key, reason, ...rest] = entry as readonly unknown[];
  const authorship = readAuthorship(rest, known);
  if (authorship === undefined || !isKey(key) || !isText(reason) || !key.startsWith(authorship.resource))
    return undefined;
  return { key, reason, authorship };
}

function readAuthorship(
  [index, resource, requestId, seenOfResource, seenOfAny]: readonly unknown[],
  known: readonly (Author | undefined)[],
): Authorship | undefined {
  const author = isRevision(index) ? known[index] : undefined;
  if (author === undefined || !isText(resource) || !isText(requestId)) return undefined;
  if (!isRevision(seenOfResource) || !isRevision(seenOfAny)) return undefined;
  return { author, resource, requestId, seenOfResource, seenOfAny };
}

/** Accepts the key of an object that clients can name. */
const isKey = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= HISTORY_KEY_CHARS_MAX && OBJECT_KEY.test(value);

const OBJECT_KEY = /^(?!internal\.holdfast\/)[^/]+\/[^/]+\/[^/]+\/[^/]+$/;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= HISTORY_TEXT_CHARS_MAX * 2;

const isRevision = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
