import { AUTHOR_NOTE_CHARS_MAX, AUTHORS_AHEAD_MAX, HISTORY_TEXT_CHARS_MAX } from '../limits.ts';
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
  /** Names the store without its secret: revisions of another one mean something else. */
  readonly lineage: string;
  readonly written: readonly Written[];
}

/** About what an entry takes in a text, its author left out. */
export const writtenChars = ({ authorship: { resource, requestId } }: Written): number =>
  resource.length + requestId.length + NUMBERS_CHARS;

/** The text of an author in a note, and what tells authors apart. */
export const authorText = ({ user, userAgent, verb, subresource, manager }: Author): string =>
  JSON.stringify([user, userAgent, verb, subresource, manager]);

const NUMBERS_CHARS = 100;

/** The same author writes many revisions: each is in a text once. Nothing of the objects is in it, not even their names. */
export function composeNote({ from, lineage, written }: AuthorNote): string {
  const authors = new Map<string, number>();
  const writes = written.map(({ first, last, authorship: { author, resource, requestId, ...seen } }) => {
    const key = authorText(author);
    const index = authors.get(key) ?? authors.size;
    authors.set(key, index);
    return [first, last, index, resource, requestId, seen.seenOfResource, seen.seenOfAny];
  });
  return JSON.stringify({ from, lineage, authors: [...authors.keys()].map((key) => JSON.parse(key)), writes });
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
  const { from, lineage, authors, writes } = value as Record<string, unknown>;
  if (!isText(from) || !isText(lineage) || !Array.isArray(authors) || !Array.isArray(writes)) return undefined;
  const known = authors.map(readAuthor);
  const written = writes.map((entry) => readWritten(entry, known));
  return written.every((each) => each !== undefined) ? { from, lineage, written } : undefined;
}

function readAuthor(entry: unknown): Author | undefined {
  if (!Array.isArray(entry) || entry.length !== AUTHOR_FIELDS || !entry.every(isText)) return undefined;
  const [user = '', userAgent = '', verb = '', subresource = '', manager = ''] = entry;
  return { user, userAgent, verb, subresource, manager };
}

const AUTHOR_FIELDS = 5;

function readWritten(entry: unknown, authors: readonly (Author | undefined)[]): Written | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [first, last, index, resource, requestId, seenOfResource, seenOfAny] = entry as readonly unknown[];
  const author = isRevision(index) ? authors[index] : undefined;
  if (author === undefined || !isText(resource) || !isText(requestId)) return undefined;
  if (!isRevision(first) || !isRevision(last) || !isRevision(seenOfResource) || !isRevision(seenOfAny))
    return undefined;
  if (last < first || last - first > AUTHORS_AHEAD_MAX) return undefined;
  return { first, last, authorship: { author, resource, requestId, seenOfResource, seenOfAny } };
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= HISTORY_TEXT_CHARS_MAX * 2;

const isRevision = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
