import { invariant } from '@holdfast/platform';
import type { StoreLimits, WriteOperation, WriteRoom } from '../port.ts';
import { integer, list, record, text } from './json.ts';

/** One write of an entry. Its id is unique, also when the caller gave none. */
export interface LoggedWrite {
  readonly id: string;
  readonly room: WriteRoom;
  readonly operations: readonly WriteOperation[];
}

/** What an entry does beside its writes. Every state machine carries it out at the same place of the log. */
export type Command =
  | { readonly kind: 'open' }
  | { readonly kind: 'compact'; readonly upTo: number }
  | { readonly kind: 'halt'; readonly reason: string };

/** The digest of the proposer's state after the message of this sequence. */
export interface Claim {
  readonly sequence: number;
  readonly digest: string;
}

/** A proposal: what the log orders, and what the state machines decide. */
export interface Entry {
  /** One run of one process. */
  readonly session: string;
  /** Ascends within the session; an entry that arrives behind a later one of its session has no effect. */
  readonly number: number;
  readonly claim: Claim | undefined;
  /** The capacity that the proposer was given; it decides the writes of this entry. */
  readonly limits: StoreLimits | undefined;
  readonly writes: readonly LoggedWrite[];
  readonly command: Command | undefined;
}

/** Entries of another format are not understood. */
const ENTRY_FORMAT = 1;
const KINDS = ['create', 'update', 'delete'] as const;
const ROOMS = ['ordinary', 'releasing', 'system'] as const;
const LINE_END = 0x0a;

/** This version cannot read what another version wrote into the log. */
export class ForeignEntry extends Error {
  override readonly name = 'ForeignEntry';
}

/** One line of JSON without the objects' texts, then these texts one after the other, so that they are not escaped twice. */
export function encodeEntry(entry: Entry): Buffer {
  const texts: Buffer[] = [];
  const { session, number, claim, limits, command } = entry;
  const head = {
    f: ENTRY_FORMAT,
    s: session,
    n: number,
    ...(claim === undefined ? {} : { c: [claim.sequence, claim.digest] }),
    ...(limits === undefined ? {} : { l: [limits.bytes, limits.reserveBytes] }),
    ...(command === undefined ? {} : { k: command }),
    w: entry.writes.map(({ id, room, operations }) => [
      id,
      ROOMS.indexOf(room),
      operations.map((operation) => encodeOperation(operation, texts)),
    ]),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...texts]);
}

function encodeOperation(operation: WriteOperation, texts: Buffer[]): readonly (string | number)[] {
  const bytes = Buffer.from(operation.value);
  texts.push(bytes);
  const expected = operation.kind === 'create' ? 0 : operation.expectedRevision;
  return [KINDS.indexOf(operation.kind), operation.key, expected, bytes.length];
}

/** Throws `ForeignEntry` for anything that `encodeEntry` of this version does not write. */
export function decodeEntry(payload: Buffer): Entry {
  try {
    return decode(payload);
  } catch (cause) {
    throw new ForeignEntry('the log has an entry that this version of Holdfast cannot read', { cause });
  }
}

function decode(payload: Buffer): Entry {
  const end = payload.indexOf(LINE_END);
  const head = record(JSON.parse(payload.toString('utf8', 0, end)));
  invariant(head['f'] === ENTRY_FORMAT, 'an entry has a known format', { format: head['f'] });
  const texts = new Texts(payload, end + 1);
  const entry: Entry = {
    session: text(head['s']),
    number: integer(head['n']),
    claim: optional(head['c'], (claim) => ({ sequence: integer(list(claim)[0]), digest: text(list(claim)[1]) })),
    limits: optional(head['l'], (limits) => ({
      bytes: integer(list(limits)[0]),
      reserveBytes: integer(list(limits)[1]),
    })),
    command: optional(head['k'], decodeCommand),
    writes: list(head['w']).map((write) => decodeWrite(list(write), texts)),
  };
  invariant(texts.isAtEnd, 'an entry ends with its last text');
  return entry;
}

function decodeWrite([id, room, operations]: readonly unknown[], texts: Texts): LoggedWrite {
  const named = ROOMS[integer(room)];
  invariant(named !== undefined, 'a room is known', { room });
  return {
    id: text(id),
    room: named,
    operations: list(operations).map((operation) => decodeOperation(list(operation), texts)),
  };
}

function decodeOperation([kind, key, expected, bytes]: readonly unknown[], texts: Texts): WriteOperation {
  const named = KINDS[integer(kind)];
  const place = { key: text(key), value: texts.take(integer(bytes)) };
  invariant(named !== undefined, 'an operation has a known kind', { kind });
  return named === 'create'
    ? { kind: named, ...place }
    : { kind: named, ...place, expectedRevision: integer(expected) };
}

function decodeCommand(value: unknown): Command {
  const command = record(value);
  const kind = text(command['kind']);
  if (kind === 'open') return { kind };
  if (kind === 'compact') return { kind, upTo: integer(command['upTo']) };
  invariant(kind === 'halt', 'a command is known', { kind });
  return { kind, reason: text(command['reason']) };
}

function optional<T>(value: unknown, decoded: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : decoded(value);
}

/** The texts behind the head of a message, taken in order. */
export class Texts {
  readonly #payload: Buffer;
  #at: number;

  constructor(payload: Buffer, at: number) {
    this.#payload = payload;
    this.#at = at;
  }

  take(bytes: number): string {
    const end = this.#at + bytes;
    invariant(bytes >= 0 && end <= this.#payload.length, 'a text lies within its message', { end });
    const taken = this.#payload.toString('utf8', this.#at, end);
    this.#at = end;
    return taken;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#payload.length;
  }
}
