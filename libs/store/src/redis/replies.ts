import { invariant } from '@holdfast/platform';
import {
  type Change,
  type ChangeKind,
  type Revision,
  type StoredObject,
  StoreFull,
  type StoreKey,
  type StoreUsage,
  type WriteResult,
} from '../port.ts';
import { assertEntry, assertObject } from './checksum.ts';
import type { Sighting } from './witness.ts';

/** The server's report about the whole store. */
export interface Inspection {
  /** `undefined` when the meta hash is absent. */
  readonly meta:
    | {
        readonly revision: Revision;
        readonly compacted: Revision;
        readonly incarnation: string;
        readonly epoch: string;
        readonly state: string;
        readonly format: number;
        /** The reason of the halt; empty without a halt, or when nobody recorded it. */
        readonly haltReason: string;
      }
    | undefined;
  readonly lastHistoryRevision: Revision;
  /** `undefined` in a store of a version that did not count. */
  readonly size: StoreSize | undefined;
  readonly serverTimeMs: number;
}

/** Includes the revision that the size belongs to: replies do not always arrive in the order of execution. */
export interface StoreSize extends Pick<StoreUsage, 'objectBytes' | 'historyBytes'> {
  readonly revision: Revision;
  readonly compacted: Revision;
}

export interface CommitReplies {
  readonly replies: readonly CommitReply[];
  /** The size after these writes; `undefined` when none was evaluated. */
  readonly size: StoreSize | undefined;
}

export type CommitReply =
  /** `repeated`: the answer was found under the write id, and nothing was executed now. */
  | { readonly kind: 'answered'; readonly result: WriteResult | StoreFull; readonly repeated: boolean }
  | { readonly kind: 'unavailable'; readonly state: string }
  | { readonly kind: 'otherEpoch'; readonly epoch: string }
  | { readonly kind: 'expired'; readonly serverTimeMs: number };

export interface HistoryEntry {
  readonly change: Change;
  readonly writeId: string;
}

/** Decodes the reply of the write script to this many writes. */
export function decodeCommits(reply: unknown, writes: number): CommitReplies {
  const answers = list(reply);
  if (typeof answers[0] === 'string') {
    return { replies: Array.from({ length: writes }, () => decodeCommit(answers)), size: undefined };
  }
  invariant(answers.length === writes + 1, 'the write script answers every write', { answers: answers.length, writes });
  return { replies: answers.slice(0, writes).map(decodeCommit), size: decodeSize(answers[writes]) };
}

export function decodeSize(reply: unknown): StoreSize {
  const [revision, compacted, objectBytes, historyBytes] = texts(reply);
  return {
    revision: number(revision),
    compacted: number(compacted),
    objectBytes: number(objectBytes),
    historyBytes: number(historyBytes),
  };
}

function decodeCommit(reply: unknown): CommitReply {
  const [kind = '', detail, again] = texts(reply);
  switch (kind) {
    case 'DONE':
      return { kind: 'answered', result: decodeAnswer(detail ?? ''), repeated: again !== undefined };
    case 'UNAVAILABLE':
      return { kind: 'unavailable', state: detail ?? '' };
    case 'EPOCH':
      return { kind: 'otherEpoch', epoch: detail ?? '' };
    case 'EXPIRED':
      return { kind: 'expired', serverTimeMs: number(detail) };
    default:
      invariant(false, 'the write script answers a known kind', { kind });
  }
}

function decodeAnswer(answer: string): WriteResult | StoreFull {
  const [outcome = '', first, second] = answer.split(' ');
  const [a, b] = [number(first), number(second)];
  switch (outcome) {
    case 'OK':
      return { outcome: 'committed', firstRevision: a, lastRevision: b };
    case 'EXISTS':
      return { outcome: 'exists', index: a, currentRevision: b };
    case 'CONFLICT':
      return { outcome: 'conflict', index: a, currentRevision: b };
    case 'FULL':
      return new StoreFull(a, b);
    case 'NOTFOUND':
      return { outcome: 'notFound', index: a };
    default:
      invariant(false, 'a recorded answer is of a known outcome', { answer });
  }
}

export function decodeGet(
  keys: readonly StoreKey[],
  reply: unknown,
): { readonly state: string; readonly revision: Revision; readonly objects: readonly (StoredObject | undefined)[] } {
  const [state, revision, found] = list(reply);
  const objects = list(found).map((fields, i) => decodeObject(keys[i] ?? '', list(fields)));
  return { state: text(state), revision: number(revision), objects };
}

function decodeObject(key: StoreKey, fields: readonly unknown[]): StoredObject | undefined {
  const [value, revision, createRevision, check] = fields;
  if (value === null || value === undefined) return undefined;
  assertObject(key, text(value), text(revision), check);
  return { key, value: text(value), revision: number(revision), createRevision: number(createRevision) };
}

/** Of each object of a page: its member, and what `GET` answers of it. */
const PAGE_FIELDS = 5;

export function decodePage(
  resource: string,
  reply: unknown,
): { readonly state: string; readonly revision: Revision; readonly objects: StoredObject[] } {
  const [state, revision, flat] = list(reply);
  const fields = list(flat);
  const objects: StoredObject[] = [];
  for (let at = 0; at < fields.length; at += PAGE_FIELDS) {
    const object = decodeObject(`${resource}/${text(fields[at])}`, fields.slice(at + 1, at + PAGE_FIELDS));
    if (object !== undefined) objects.push(object);
  }
  return { state: text(state), revision: number(revision), objects };
}

export function decodeInspection(reply: unknown): Inspection {
  const found = texts(reply);
  const [revision = '', compacted, incarnation = '', epoch = '', state = '', format, last = '', time] = found;
  const [haltReason = '', ob = '', hb, cb] = found.slice(8);
  const meta =
    revision === ''
      ? undefined
      : {
          revision: number(revision),
          compacted: number(compacted),
          incarnation,
          epoch,
          state,
          format: number(format),
          haltReason,
        };
  const isCounted = meta !== undefined && ob !== '';
  const size = isCounted
    ? {
        revision: meta.revision,
        compacted: meta.compacted,
        objectBytes: number(ob),
        historyBytes: number(hb) - number(cb),
      }
    : undefined;
  return { meta, lastHistoryRevision: revisionOfId(last), serverTimeMs: number(time), size };
}

/** Decodes pairs of a revision and a write id. */
export function decodeSightings(reply: unknown): readonly Sighting[] {
  const flat = texts(reply);
  return Array.from({ length: flat.length / 2 }, (_, i) => ({
    revision: number(flat[2 * i]),
    writeId: flat[2 * i + 1] ?? '',
  }));
}

const KINDS: ReadonlyMap<string, ChangeKind> = new Map([
  ['c', 'created'],
  ['u', 'updated'],
  ['d', 'deleted'],
]);

const WHOLE = 'a history entry is whole, in the order of the write script';

/** Omits `previousValue` of the change: the caller adds it when it still holds it. */
export function decodeEntry(id: string, fields: readonly string[]): HistoryEntry {
  const [o, operation = '', k, key, p, previous, v, value, w, writeId, , , , checksum] = fields;
  const kind = KINDS.get(operation);
  const isNamed = o === 'o' && k === 'k' && p === 'p' && v === 'v' && w === 'w';
  invariant(isNamed && kind !== undefined && key !== undefined && value !== undefined && writeId !== undefined, WHOLE, {
    id,
  });
  assertEntry(key, value, checksum);
  const change = {
    revision: revisionOfId(id),
    kind,
    key,
    value,
    previousRevision: previousOf(kind, previous),
    writeId,
  };
  return { change, writeId };
}

function previousOf(kind: ChangeKind, previous: string | undefined): Revision {
  return kind === 'created' ? 0 : number(previous);
}

function revisionOfId(id: string): Revision {
  return number(id.slice(0, id.indexOf('-')));
}

export function number(value: unknown): number {
  const parsed = Number(value);
  invariant(Number.isSafeInteger(parsed) && value !== '' && value !== null, 'a reply holds a whole number', { value });
  return parsed;
}

function text(value: unknown): string {
  invariant(typeof value === 'string', 'a reply holds a text', { type: typeof value });
  return value;
}

function list(reply: unknown): readonly unknown[] {
  invariant(Array.isArray(reply), 'a reply is a list', { type: typeof reply });
  return reply;
}

export function texts(reply: unknown): readonly string[] {
  return list(reply).map(text);
}
