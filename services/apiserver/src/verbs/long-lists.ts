import type { ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { partialObjectMetadata } from '@holdfast/machinery';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { shapeVersionOf, type TableContent, tableFor, valueAnswer } from '../http/object-answer.ts';
import { PIECE_BYTES } from '../http/pieces.ts';
import { encodedMember, protobufEnvelope } from '../http/protobuf.ts';
import { type NamedMembers, yamlParts, yamlPartsOfMembers } from '../http/yaml-parts.ts';

/**
 * Lists that are composed per client. A long one is composed while it is sent, in turns with other work: members are
 * parsed and formatted when the client has read the earlier ones. So the memory of a response does not grow with the
 * list.
 */

/** Objects whose rows, or partial objects, are made in one go, and the bytes of these at most. */
const OBJECTS_AT_ONCE = 25;
const OBJECT_BYTES_AT_ONCE = 256 * 1024;

interface ListContent {
  readonly objects: readonly CachedObject[];
  readonly metadata: TableContent['metadata'];
}

type Answer = ApiResponse | Promise<ApiResponse>;

export function tableAnswer(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  { objects, metadata }: ListContent,
): Answer {
  const ordered = inRowOrder(objects, definition);
  if (isShort(ordered)) {
    return valueAnswer(context, 200, tableFor(core, context, definition, { objects: ordered, metadata }));
  }
  const head = tableFor(core, context, definition, { objects: [], metadata });
  const rowsOf = (part: readonly CachedObject[]): readonly unknown[] =>
    tableFor(core, context, definition, { objects: part, metadata }).rows;
  return membersAnswer(core, context, head, { name: 'rows', members: inParts(ordered, rowsOf) });
}

function inRowOrder(objects: readonly CachedObject[], { rowOrder }: ResourceDefinition): readonly CachedObject[] {
  return rowOrder === undefined ? objects : objects.toSorted((a, b) => rowOrder(a.object, b.object));
}

export function partialListAnswer(core: Core, context: ResourceContext, { objects, metadata }: ListContent): Answer {
  const apiVersion = shapeVersionOf(context);
  const head = { kind: 'PartialObjectMetadataList', apiVersion, metadata };
  const partials = (part: readonly CachedObject[]): readonly unknown[] =>
    part.map((each) => partialObjectMetadata(each.object, apiVersion));
  if (isShort(objects)) return valueAnswer(context, 200, { ...head, items: partials(objects) });
  return membersAnswer(core, context, head, { name: 'items', members: inParts(objects, partials) });
}

/** A list of whole objects in YAML. `head` is the list without its items. */
export function yamlListAnswer(
  core: Core,
  context: ResourceContext,
  head: ListHead,
  objects: readonly CachedObject[],
): Answer {
  const whole = (part: readonly CachedObject[]): readonly unknown[] => part.map((each) => each.object);
  if (isShort(objects)) return valueAnswer(context, 200, { ...head, items: whole(objects) });
  return membersAnswer(core, context, head, { name: 'items', members: inParts(objects, whole) });
}

/** One object in YAML. */
export function yamlAnswer(core: Core, context: ResourceContext, object: CachedObject): ApiResponse {
  if (isShort([object])) return valueAnswer(context, 200, object.object);
  return documentAnswer(core, context, textsOf(yamlParts(object.object)));
}

function isShort(objects: readonly CachedObject[]): boolean {
  if (objects.length > OBJECTS_AT_ONCE) return false;
  let bytes = 0;
  for (const { size } of objects) bytes += size;
  return bytes < PIECE_BYTES;
}

interface Repeatable<T> {
  /** Each iteration creates its members again. */
  [Symbol.iterator](): Iterator<T>;
}

function inParts<R>(
  objects: readonly CachedObject[],
  make: (part: readonly CachedObject[]) => readonly R[],
): Repeatable<R> {
  return {
    *[Symbol.iterator]() {
      for (let start = 0; start < objects.length; ) {
        const end = endOfPart(objects, start);
        yield* make(objects.slice(start, end));
        start = end;
      }
    },
  };
}

/** At least one object. */
function endOfPart(objects: readonly CachedObject[], start: number): number {
  let bytes = 0;
  let end = start;
  while (end < objects.length && end - start < OBJECTS_AT_ONCE && bytes < OBJECT_BYTES_AT_ONCE) {
    bytes += objects[end]?.size ?? 0;
    end += 1;
  }
  return end;
}

type ListHead = Parameters<typeof protobufEnvelope>[0];

/** `named` is the last member of the head in JSON. */
function membersAnswer(core: Core, context: ResourceContext, head: ListHead, named: NamedMembers): Answer {
  const { encoding } = context.representation;
  if (encoding === 'protobuf') return protobufAnswer(core, context, head, named);
  const texts = encoding === 'yaml' ? yamlPartsOfMembers(head, named) : jsonPartsOfMembers(head, named);
  return documentAnswer(core, context, textsOf(texts));
}

function* jsonPartsOfMembers(head: object, { name, members }: NamedMembers): Generator<string> {
  const empty = JSON.stringify({ ...head, [name]: [] });
  yield empty.slice(0, -EMPTY_END.length);
  let comma = '';
  for (const member of members) {
    yield `${comma}${JSON.stringify(member)}`;
    comma = ',';
  }
  yield EMPTY_END;
}

const EMPTY_END = ']}';

/** The length comes first: members encoded for the length are encoded again when they are sent. */
async function protobufAnswer(
  core: Core,
  context: ResourceContext,
  head: ListHead,
  { members }: NamedMembers,
): Promise<ApiResponse> {
  let length = 0;
  for (const member of members) {
    length += encodedMember(member).length;
    const turn = core.turns.goOn(context.user);
    if (turn !== undefined) await turn;
  }
  const envelope = protobufEnvelope(head, length);
  const parts = function* (): Generator<Uint8Array> {
    yield envelope.head;
    for (const member of members) yield encodedMember(member);
    yield envelope.tail;
  };
  const answer = documentAnswer(core, context, parts());
  const total = envelope.head.length + length + envelope.tail.length;
  return { ...answer, headers: { ...answer.headers, 'content-length': String(total) } };
}

function* textsOf(parts: Iterable<string>): Generator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

const documentAnswer = (core: Core, context: ResourceContext, parts: Iterable<Uint8Array>): ApiResponse => ({
  status: 200,
  headers: { 'content-type': context.representation.contentType },
  body: { kind: 'stream', chunks: gathered(core, context, parts), isDocument: true },
});

/** Other work runs between parts. Small parts are sent together. */
async function* gathered(
  { turns }: Core,
  { user }: ResourceContext,
  parts: Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    waiting.push(part);
    bytes += part.length;
    if (bytes >= PIECE_BYTES) {
      yield Buffer.concat(waiting, bytes);
      waiting = [];
      bytes = 0;
    }
    const turn = turns.goOn(user);
    if (turn !== undefined) await turn;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}
