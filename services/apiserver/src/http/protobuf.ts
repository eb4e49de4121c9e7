import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiRequest, ApiResponse, JsonPieces } from '@holdfast/client';
import { deepFreeze } from '@holdfast/machinery';
import { invariant, nextTurn } from '@holdfast/platform';
import type { CachedObject } from '../cache/cached-object.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { notAcceptable, PROTOBUF } from './negotiation.ts';
import { joined, KEPT_LIST_BYTES_MAX, madeInPieces, partsInPieces } from './pieces.ts';

type Encoder = typeof import('@holdfast/api/protobuf');

/** Loaded for the first such client, so that others do not need the tables. */
let loaded: Encoder | undefined;

/** True for clients that accept protobuf. */
export const takesProtobuf = ({ headers }: Pick<ApiRequest, 'headers'>): boolean =>
  headers['accept']?.includes(PROTOBUF) === true;

/** Has to be waited for before anything of a request that `takesProtobuf` is encoded; `undefined` when it is there. */
export function encoderFor(request: Pick<ApiRequest, 'headers'>): Promise<void> | undefined {
  if (loaded !== undefined || !takesProtobuf(request)) return undefined;
  return import('@holdfast/api/protobuf').then((encoder) => {
    loaded = encoder;
  });
}

export function encoder(): Encoder {
  invariant(loaded !== undefined, 'the protobuf tables are loaded before an answer is negotiated');
  return loaded;
}

/** The answer with a value that was made for this request; `undefined` when its kind has no protobuf encoding. */
export function optionalProtobufAnswer(
  status: number,
  value: unknown,
  contentType = PROTOBUF,
): ApiResponse | undefined {
  const bytes = typeof value === 'object' && value !== null ? encoder().encodeObject(value) : undefined;
  return bytes === undefined ? undefined : bytesAnswer(status, contentType, bytes, () => deepFreeze(value));
}

export function protobufAnswer(status: number, value: unknown): ApiResponse {
  const answer = optionalProtobufAnswer(status, value);
  if (answer === undefined) throw notAcceptable(['application/json', 'application/yaml']);
  return answer;
}

const bytesAnswer = (status: number, contentType: string, bytes: Uint8Array, value: () => unknown): ApiResponse => ({
  status,
  headers: { 'content-type': contentType },
  body: { kind: 'json', bytes: () => bytes, value },
});

export const protobufObjectAnswer = (
  status: number,
  definition: ResourceDefinition,
  object: CachedObject,
): ApiResponse => bytesAnswer(status, PROTOBUF, objectInProtobuf(definition, object), () => object.object);

/** The stand-alone form, also used in a watch. */
export const objectInProtobuf = ({ kind, ...definition }: ResourceDefinition, object: CachedObject): Buffer =>
  encoder().inEnvelope({ apiVersion: groupVersion(definition), kind }, contentOf(object));

const contentOf = (object: CachedObject): Buffer => object.encoded(encodeContent);

function encodeContent(object: KubeObject): Buffer {
  return existing(encoder().encodeContent(object), object);
}

export interface ProtobufList {
  readonly definition: ResourceDefinition;
  readonly objects: readonly CachedObject[];
  readonly metadata: object;
  readonly value: () => unknown;
}

/** Encodes a member of a list for this request: its header and its content. */
export function encodedMember(member: unknown): Buffer {
  const content = typeof member === 'object' && member !== null ? encoder().encodeContent(member) : undefined;
  if (content === undefined) throw notAcceptable(['application/json', 'application/yaml']);
  return Buffer.concat([encoder().itemHead(content.length), content]);
}

/** The bytes before and after members of this size. `head` is the list without them. */
export function protobufEnvelope(
  head: { readonly kind: string; readonly apiVersion: string; readonly metadata: object },
  length: number,
): { readonly head: Buffer; readonly tail: Buffer } {
  return encoder().listEnvelope(head, head.metadata, length);
}

/** This many take about four milliseconds; then other requests get a turn. */
const ENCODED_AT_ONCE = 100;

export async function protobufListAnswer(list: ProtobufList): Promise<ApiResponse> {
  let size = 0;
  for (const object of list.objects) size += object.size;
  const document = size > KEPT_LIST_BYTES_MAX ? await longDocument(list) : await shortDocument(list);
  const { value } = list;
  return { status: 200, headers: { 'content-type': PROTOBUF }, body: { kind: 'json', ...document, value } };
}

interface Document {
  readonly bytes: () => Uint8Array;
  readonly pieces: () => JsonPieces;
}

/** The encodings are kept with their objects. Synchronous when all objects are encoded already. */
async function shortDocument(list: ProtobufList): Promise<Document> {
  const { itemHead } = encoder();
  const parts: Buffer[] = [];
  const turns = new EncodingTurns();
  let length = 0;
  for (const object of list.objects) {
    if (!object.isEncoded && turns.encodes()) await nextTurn();
    const content = contentOf(object);
    const head = itemHead(content.length);
    parts.push(head, content);
    length += head.length + content.length;
  }
  const { head, tail } = envelopeOf(list, length);
  const all = [head, ...parts, tail];
  return { pieces: () => partsInPieces(all), bytes: () => Buffer.concat(all) };
}

/**
 * The first bytes of a list contain the lengths of all encodings, so these are made before. They stay packed side by
 * side within the budget; an object whose encoding found no room is encoded again when it is about to be sent.
 */
async function longDocument(list: ProtobufList): Promise<Document> {
  const { itemHead } = encoder();
  const turns = new EncodingTurns();
  let length = 0;
  for (const object of list.objects) {
    if (object.encodedLength === 0) {
      if (turns.encodes()) await nextTurn();
      object.lendEncoded(lendContent);
    }
    length += itemHead(object.encodedLength).length + object.encodedLength;
  }
  const pieces = (): JsonPieces => madeInPieces({ ...envelopeOf(list, length), items: itemsOf(list.objects), length });
  return { pieces, bytes: () => joined(pieces()) };
}

function* itemsOf(objects: readonly CachedObject[]): Generator<readonly [Buffer, Buffer]> {
  const { itemHead } = encoder();
  for (const object of objects) {
    const content = object.lendEncoded(lendContent);
    yield [itemHead(content.length), content];
  }
}

function lendContent(object: KubeObject): Buffer {
  return existing(encoder().lendContent(object), object);
}

function existing(content: Buffer | undefined, { kind }: KubeObject): Buffer {
  invariant(content !== undefined, 'every kind that is stored has a protobuf encoding', { kind });
  return content;
}

const envelopeOf = ({ definition, metadata }: ProtobufList, length: number): { head: Buffer; tail: Buffer } =>
  encoder().listEnvelope({ apiVersion: groupVersion(definition), kind: `${definition.kind}List` }, metadata, length);

/** Counts what is encoded in one turn. */
class EncodingTurns {
  #encoded = 0;

  /** True when others should get a turn first. */
  encodes(): boolean {
    this.#encoded += 1;
    return this.#encoded % ENCODED_AT_ONCE === 0;
  }
}
