import { createHash } from 'node:crypto';
import { invariant } from '@holdfast/platform';
import { ObjectTable } from '../internal/object-table.ts';
import { LOG_SNAPSHOT_PART_BYTES } from '../limits.ts';
import type { StoredObject } from '../port.ts';
import { Texts } from './entry.ts';
import { HistorySizes } from './history-sizes.ts';
import { integer, list, record, text } from './json.ts';
import type { MachineState } from './state-machine.ts';
import { WriteIds } from './write-ids.ts';

/** What is known of a complete snapshot. It is stored after the last part. */
export interface Manifest {
  readonly position: number;
  readonly parts: number;
  /** Covers all parts, in order. */
  readonly digest: string;
  /** Where the first part was stored: parts of other snapshots before it are of no use any more. */
  readonly first: number;
}

/** The newest snapshot and the one before, from which the log is still complete. */
export interface Manifests {
  readonly newest: Manifest;
  readonly previous: Manifest | undefined;
}

const SNAPSHOT_FORMAT = 1;
const IDS_PER_PART = 4_096;
const SIZES_PER_PART = 65_536;
const LINE_END = 0x0a;

type Piece = { readonly head: unknown; readonly texts: readonly Buffer[] };

/** A copy of the state at this moment that later entries do not change; objects themselves never change. */
export function captureState(state: MachineState): Iterable<Piece> {
  const { objects, revision } = state.table.list('');
  const { position, digest, compacted, halted, forgottenAt } = state;
  const head = {
    format: SNAPSHOT_FORMAT,
    position,
    digest,
    revision,
    compacted,
    ...(halted === undefined ? {} : { halted }),
    sessions: [...state.sessions],
    ...(forgottenAt === 0 ? {} : { forgottenAt }),
  };
  const [older, newer] = state.writeIds.toArrays();
  return pieces({ head, sizes: state.sizes.toArray() }, { older, newer }, objects);
}

function* pieces(
  { head, sizes }: { readonly head: unknown; readonly sizes: readonly number[] },
  ids: { readonly [bucket in 'older' | 'newer']: readonly (readonly [string, number, number])[] },
  objects: readonly StoredObject[],
): Iterable<Piece> {
  yield { head, texts: [] };
  for (let at = 0; at < sizes.length; at += SIZES_PER_PART)
    yield { head: { sizes: sizes.slice(at, at + SIZES_PER_PART) }, texts: [] };
  for (const bucket of ['older', 'newer'] as const) {
    for (let at = 0; at < ids[bucket].length; at += IDS_PER_PART)
      yield { head: { bucket, ids: ids[bucket].slice(at, at + IDS_PER_PART) }, texts: [] };
  }
  for (let at = 0; at < objects.length; ) {
    const part = takePart(objects, at);
    at += part.texts.length;
    yield part;
  }
}

/** A large object goes alone: what could be written as an entry of the log fits into a message here, too. */
function takePart(objects: readonly StoredObject[], from: number): Piece {
  const texts: Buffer[] = [];
  const head: unknown[] = [];
  let bytes = 0;
  for (let at = from; at < objects.length; at++) {
    const object = objects[at];
    if (object === undefined) break;
    const value = Buffer.from(object.value);
    const place = [object.key, object.revision, object.createRevision, value.length];
    bytes += value.length + JSON.stringify(place).length;
    if (texts.length > 0 && bytes > LOG_SNAPSHOT_PART_BYTES) break;
    texts.push(value);
    head.push(place);
  }
  return { head: { objects: head }, texts };
}

export function encodePiece({ head, texts }: Piece): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...texts]);
}

/** Folds the parts of a snapshot into one digest. */
export function digestOfParts(): { add(part: Buffer): void; end(): string } {
  const hash = createHash('sha256');
  return {
    add: (part) => void hash.update(String(part.length)).update(part),
    end: () => hash.digest('base64url'),
  };
}

/** Rebuilds a state from the parts of a snapshot, in order. */
export class SnapshotReader {
  readonly #table = new ObjectTable();
  readonly #writeIds = new WriteIds();
  readonly #sizes = new HistorySizes();
  #head: Readonly<Record<string, unknown>> | undefined;

  add(part: Buffer): void {
    const end = part.indexOf(LINE_END);
    const head = record(JSON.parse(part.toString('utf8', 0, end)));
    if (this.#head === undefined) {
      invariant(head['format'] === SNAPSHOT_FORMAT, 'a snapshot has a known format', { format: head['format'] });
      this.#head = head;
    } else if (head['sizes'] !== undefined) {
      for (const size of list(head['sizes'])) this.#sizes.push(integer(size));
    } else if (head['objects'] === undefined) this.#addIds(head);
    else this.#addObjects(list(head['objects']), new Texts(part, end + 1));
  }

  finish(): MachineState {
    const head = this.#head;
    invariant(head !== undefined, 'a snapshot has a head');
    this.#table.restoreRevision(integer(head['revision']));
    return {
      position: integer(head['position']),
      digest: text(head['digest']),
      compacted: integer(head['compacted']),
      halted: head['halted'] === undefined ? undefined : text(head['halted']),
      table: this.#table,
      writeIds: this.#writeIds,
      sizes: this.#sizes,
      sessions: new Map(list(head['sessions']).map(decodeSession)),
      forgottenAt: integer(head['forgottenAt'] ?? 0),
    };
  }

  #addIds(head: Readonly<Record<string, unknown>>): void {
    const bucket = head['bucket'] === 'older' ? 'older' : 'newer';
    for (const remembered of list(head['ids'])) {
      const [id, first, last] = list(remembered);
      this.#writeIds.restore(bucket, [text(id), integer(first), integer(last)]);
    }
  }

  #addObjects(objects: readonly unknown[], texts: Texts): void {
    for (const object of objects) {
      const [key, revision, createRevision, bytes] = list(object);
      const value = texts.take(integer(bytes));
      const place = { revision: integer(revision), createRevision: integer(createRevision) };
      this.#table.restore(Object.freeze({ key: text(key), value, ...place }));
    }
  }
}

function decodeSession(value: unknown): readonly [string, number] {
  const [session, number] = list(value);
  return [text(session), integer(number)];
}

export function encodeManifests(manifests: Manifests): Buffer {
  return Buffer.from(JSON.stringify(manifests));
}

export function decodeManifests(data: Buffer): Manifests {
  const { newest, previous } = record(JSON.parse(data.toString()));
  return {
    newest: decodeManifest(newest),
    previous: previous === undefined ? undefined : decodeManifest(previous),
  };
}

function decodeManifest(value: unknown): Manifest {
  const manifest = record(value);
  return {
    position: integer(manifest['position']),
    parts: integer(manifest['parts']),
    digest: text(manifest['digest']),
    first: integer(manifest['first']),
  };
}
