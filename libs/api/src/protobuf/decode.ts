import { exactInteger } from '@holdfast/machinery';
import { MAGIC } from './magic.ts';
import { messageName } from './message-names.ts';
import { messageOf, type WireField } from './message-table.ts';
import { SPECIAL_MESSAGES } from './special-messages.ts';
import { WIRE_64_BIT, WIRE_BYTES, WIRE_VARINT, WireError, WireReader } from './wire.ts';
import type { WireCount } from './wire-count.ts';
import { decodeText } from './wire-fields.ts';

const MESSAGE_DEPTH_MAX = 100;

export type ProtobufJson = Record<string, unknown>;

/**
 * Decodes a Kubernetes protobuf body to JSON. Throws `WireError` with the reason when it is invalid, JsonSyntaxError for
 * JSON inside it, and StatusError 413 when it has too many values.
 */
export function decodeProtobufObject(body: Uint8Array): ProtobufJson {
  if (MAGIC.some((byte, i) => body[i] !== byte)) {
    throw new WireError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const envelope = readEnvelope(body.subarray(MAGIC.length));
  const message = messageName(envelope.apiVersion, envelope.kind);
  if (message === undefined) {
    throw new WireError(`no kind "${envelope.kind}" is registered for version "${envelope.apiVersion}"`);
  }
  const object = decodeMessage(message, new WireReader(envelope.raw), 0);
  return { apiVersion: envelope.apiVersion, kind: envelope.kind, ...object };
}

function readEnvelope(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const reader = new WireReader(bytes);
  const envelope: { apiVersion: string; kind: string; raw: Uint8Array } = {
    apiVersion: '',
    kind: '',
    raw: new Uint8Array(),
  };
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (number === 1 && wireType === WIRE_BYTES)
      Object.assign(envelope, decodeMessage('runtime.TypeMeta', reader.message(), 0));
    else if (number === 2 && wireType === WIRE_BYTES) envelope.raw = reader.bytes();
    else reader.skip(wireType);
  }
  return envelope;
}

function decodeMessage(name: string, reader: WireReader, depth: number): ProtobufJson {
  if (depth > MESSAGE_DEPTH_MAX) throw new WireError('message is nested too deeply');
  const fields = messageOf(name);
  const object: ProtobufJson = {};
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    const field = fields.get(number);
    if (field === undefined) reader.skip(wireType);
    else addField(object, field, readValue(reader, field, wireType, depth), reader.count);
  }
  return object;
}

function addField(object: ProtobufJson, field: WireField, value: unknown, count: WireCount): void {
  if (field.inline) Object.assign(object, value);
  else if (field.shape === 'list') addItem(object, field.json, value, count);
  else if (field.shape === 'map') mergeEntry(object, field.json, value, count);
  else if (value !== undefined && (field.keepsZero || !isZero(value))) object[field.json] = value;
}

function addItem(object: ProtobufJson, name: string, item: unknown, count: WireCount): void {
  const known = (object[name] ??= []) as unknown[];
  count.addEntry(known);
  known.push(item);
}

/** Keys such as `__proto__` stay plain data. */
function mergeEntry(object: ProtobufJson, name: string, entry: unknown, count: WireCount): void {
  const { key, value } = entry as { key: string; value: unknown };
  const known = (object[name] ??= {}) as object;
  count.addEntry(known);
  Object.defineProperty(known, key, { value, enumerable: true, configurable: true, writable: true });
}

function readValue(reader: WireReader, field: WireField, wireType: number, depth: number): unknown {
  if (field.shape === 'map') return readEntry(reader.message(), field.type, depth);
  return readSingle(reader, field.type, wireType, depth);
}

function readEntry(reader: WireReader, type: string, depth: number): { key: string; value: unknown } {
  let key = '';
  let value: unknown = type === 's' || type === 'y' ? '' : {};
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (number === 1) key = decodeText(reader.bytes());
    else if (number === 2) value = readSingle(reader, type, wireType, depth);
    else reader.skip(wireType);
  }
  return { key, value };
}

function readSingle(reader: WireReader, type: string, wireType: number, depth: number): unknown {
  expectWireType(type, wireType);
  switch (type) {
    case 's':
      return decodeText(reader.bytes());
    case 'b':
      return reader.varint() !== 0n;
    case 'i':
      return exactInteger(BigInt.asIntN(64, reader.varint()));
    case 'd':
      return reader.double();
    case 'y':
      return Buffer.from(reader.bytes()).toString('base64');
    default: {
      const special = Object.hasOwn(SPECIAL_MESSAGES, type) ? SPECIAL_MESSAGES[type] : undefined;
      return special === undefined
        ? decodeMessage(type, reader.message(), depth + 1)
        : special(reader.message(), (name, message) => decodeMessage(name, message, depth + 2));
    }
  }
}

function expectWireType(type: string, wireType: number): void {
  const wanted = type === 'b' || type === 'i' ? WIRE_VARINT : type === 'd' ? WIRE_64_BIT : WIRE_BYTES;
  if (wireType !== wanted) throw new WireError(`wrong wireType = ${wireType}`);
}

function isZero(value: unknown): boolean {
  if (value === '' || value === 0 || value === false) return true;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
