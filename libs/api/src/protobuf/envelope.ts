import { encodeMessage, lendMessage } from './encode.ts';
import { MAGIC } from './magic.ts';
import { messageName } from './message-names.ts';
import { WIRE_BYTES } from './wire.ts';
import { WireWriter } from './wire-writer.ts';

interface Typed {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
}

/** Encodes the content of an object without its kind; `undefined` when its kind has no protobuf message. */
export function encodeContent(object: object): Buffer | undefined {
  const { apiVersion, kind } = typeOf(object);
  const message = messageName(apiVersion, kind);
  return message === undefined ? undefined : encodeMessage(message, object);
}

/** The same for a caller that copies the result at once: it is valid until the next call. */
export function lendContent(object: object): Buffer | undefined {
  const { apiVersion, kind } = typeOf(object);
  const message = messageName(apiVersion, kind);
  return message === undefined ? undefined : lendMessage(message, object);
}

/** Encodes the object for clients: its kind, then its content. */
export function encodeObject(object: object): Buffer | undefined {
  const content = encodeContent(object);
  return content === undefined ? undefined : inEnvelope(typeOf(object), content);
}

export interface TypeOf {
  readonly apiVersion: string;
  readonly kind: string;
}

function typeOf(object: object): TypeOf {
  const { apiVersion, kind } = object as Typed;
  return { apiVersion: typeof apiVersion === 'string' ? apiVersion : '', kind: typeof kind === 'string' ? kind : '' };
}

/** Wraps the content of an object with its kind. */
export function inEnvelope(type: TypeOf, content: Uint8Array): Buffer {
  const { head, tail } = envelopeFor(type, content.length);
  return Buffer.concat([head, content, tail]);
}

/** Returns the bytes before and after a content of this length. */
export function envelopeFor(
  { apiVersion, kind }: TypeOf,
  length: number,
): { readonly head: Buffer; readonly tail: Buffer } {
  const writer = new WireWriter();
  writer.varint(length);
  writer.varint(RAW * 8 + WIRE_BYTES);
  const before = writer.length;
  writer.text(kind);
  writer.varint(KIND * 8 + WIRE_BYTES);
  writer.text(apiVersion);
  writer.varint(API_VERSION * 8 + WIRE_BYTES);
  writer.close(TYPE, before);
  return { head: Buffer.concat([PREFIX, writer.finish()]), tail: TAIL };
}

const PREFIX = Buffer.from(MAGIC);
const TYPE = 1;
const API_VERSION = 1;
const KIND = 2;
const RAW = 2;
/** Empty encoding and content type. */
const TAIL = Buffer.from([3 * 8 + WIRE_BYTES, 0, 4 * 8 + WIRE_BYTES, 0]);

/** Returns the start of a list: kind and metadata. The items follow as `encodeItem` makes them, then the tail. */
export function listEnvelope(
  type: TypeOf,
  metadata: object,
  itemBytes: number,
): { readonly head: Buffer; readonly tail: Buffer } {
  const writer = new WireWriter();
  writer.bytes(encodeMessage('meta.v1.ListMeta', metadata));
  writer.varint(LIST_METADATA * 8 + WIRE_BYTES);
  const content = writer.finish();
  const { head, tail } = envelopeFor(type, content.length + itemBytes);
  return { head: Buffer.concat([head, content]), tail };
}

const LIST_METADATA = 1;
const LIST_ITEMS = 2;

/** Returns the bytes before the content of one item. A list has thousands of them. */
export function itemHead(length: number): Buffer {
  let groups = 1;
  for (let rest = length; rest >= 0x80; rest >>>= 7) groups++;
  const head = Buffer.allocUnsafe(1 + groups);
  head[0] = LIST_ITEMS * 8 + WIRE_BYTES;
  for (let i = 1; i < groups; i++) head[i] = ((length >>> (7 * (i - 1))) & 0x7f) | 0x80;
  head[groups] = length >>> (7 * (groups - 1));
  return head;
}

/** Encodes one watch event: its length in four bytes, then its type and the object in its envelope. */
export function watchFrame(type: string, object: Uint8Array): Buffer {
  const writer = new WireWriter();
  writer.bytes(object);
  writer.varint(1 * 8 + WIRE_BYTES);
  writer.close(EVENT_OBJECT, 0);
  writer.text(type);
  writer.varint(EVENT_TYPE * 8 + WIRE_BYTES);
  const event = writer.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

const EVENT_TYPE = 1;
const EVENT_OBJECT = 2;
