import type { Author, Authorship, HistoryRecord } from './record.ts';

/**
 * A record is three lines: its facts as JSON, its text, the text before. Stored texts are JSON on one line, so nothing
 * is escaped, and nothing is parsed that nobody reads.
 */
type Facts = readonly [
  kind: number,
  rest: string,
  revision: number,
  previousRevision: number,
  afterMs: number,
  reason: string,
  authorship: null | readonly [author: number, requestId: string, seenOfResource: number, seenOfAny: number],
];

const KINDS = ['created', 'updated', 'deleted', 'refused'] as const satisfies readonly HistoryRecord['kind'][];
const LINE_END = 0x0a;

/** Adds unknown authors to `authors`. All records are of one resource. */
export function writeRecords(records: readonly HistoryRecord[], beganAt: number, authors: Author[]): Buffer {
  const lines: string[] = [];
  for (const record of records) {
    const { kind, key, revision, previousRevision, at, reason, value, before } = record;
    const rest = key.slice(key.indexOf('/', key.indexOf('/') + 1) + 1);
    const by = writeAuthorship(record.authorship, authors);
    const facts: Facts = [KINDS.indexOf(kind), rest, revision, previousRevision, at - beganAt, reason, by];
    lines.push(JSON.stringify(facts), value, before);
  }
  return Buffer.from(`${lines.join('\n')}\n`);
}

function writeAuthorship(authorship: Authorship | undefined, authors: Author[]): Facts[6] {
  if (authorship === undefined) return null;
  const { author, requestId, seenOfResource, seenOfAny } = authorship;
  return [indexOf(author, authors), requestId, seenOfResource, seenOfAny];
}

/** A batch has few authors, and the last one often writes again. */
function indexOf(author: Author, authors: Author[]): number {
  const found = authors.findLastIndex((each) => isSame(each, author));
  return found < 0 ? authors.push(author) - 1 : found;
}

const isSame = (one: Author, other: Author): boolean =>
  one === other ||
  (one.user === other.user &&
    one.verb === other.verb &&
    one.userAgent === other.userAgent &&
    one.manager === other.manager &&
    one.subresource === other.subresource);

export interface TextPlace {
  readonly prefix: string;
  readonly beganAt: number;
  readonly authors: readonly Author[];
}

/** Texts are made when they are read. */
export function readRecords(text: Buffer, place: TextPlace): HistoryRecord[] {
  const records: HistoryRecord[] = [];
  for (let at = 0; at < text.length; ) {
    const facts = text.indexOf(LINE_END, at);
    const value = text.indexOf(LINE_END, facts + 1);
    const before = text.indexOf(LINE_END, value + 1);
    records.push(new ReadRecord(text, [at, facts, value, before], place));
    at = before + 1;
  }
  return records;
}

class ReadRecord implements HistoryRecord {
  readonly revision: number;
  readonly at: number;
  readonly kind: HistoryRecord['kind'];
  readonly key: string;
  readonly previousRevision: number;
  readonly reason: string;
  readonly authorship: Authorship | undefined;
  readonly #text: Buffer;
  /** The ends of the two texts, and where the first begins. */
  readonly #ends: readonly [number, number, number];

  constructor(text: Buffer, ends: readonly [number, number, number, number], place: TextPlace) {
    const [kind, rest, revision, previousRevision, afterMs, reason, by] = JSON.parse(
      text.toString('utf8', ends[0], ends[1]),
    ) as Facts;
    this.kind = KINDS[kind] ?? 'updated';
    this.key = place.prefix + rest;
    this.revision = revision;
    this.previousRevision = previousRevision;
    this.at = place.beganAt + afterMs;
    this.reason = reason;
    this.authorship = readAuthorship(by, place);
    this.#text = text;
    this.#ends = [ends[1], ends[2], ends[3]];
  }

  get value(): string {
    return this.#text.toString('utf8', this.#ends[0] + 1, this.#ends[1]);
  }

  get before(): string {
    return this.#text.toString('utf8', this.#ends[1] + 1, this.#ends[2]);
  }
}

function readAuthorship(by: Facts[6], { authors, prefix: resource }: TextPlace): Authorship | undefined {
  if (by === null) return undefined;
  const [index, requestId, seenOfResource, seenOfAny] = by;
  const author = authors[index];
  return author === undefined ? undefined : { author, resource, requestId, seenOfResource, seenOfAny };
}
