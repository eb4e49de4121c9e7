import { exactInteger } from '@holdfast/machinery';
import { MAGIC } from './magic.ts';
import { messageName } from './message-names.ts';
import { messageOf, type WireField } from './message-table.ts';
import { SPECIAL_MESSAGES } from './special-messages.ts';
import { WIRE_64_BIT, WIRE_BYTES, WIRE_VARINT, WireError, WireReader } from './wire.ts';
import { decodeText } from './wire-fields.ts';

const MESSAGE_DEPTH_MAX = 100;

export type ProtobufJson = Record<string, unknown>;

/** Decodes a Kubernetes protobuf body to JSON. Throws `WireError` with the reason when it is invalid. */
export function decodeProtobufObject(body: Uint8Array): ProtobufJson {
  if (MAGIC.some((byte, i) => body[i] !== byte)) {
    throw new WireError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const envelope = readEnvelope(body.subarray(MAGIC.length));
  const message = messageName(envelope.apiVersion, envelope.kind);
  if (message === undefined) {
    throw new WireError(`no kind "${envelope.kind}" is registered for version "${envelope.apiVersion}"`);
  }
  return { apiVersion: envelope.apiVersion, kind: envelope.kind, ...decodeMessage(message, envelope.raw, 0) };
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
      Object.assign(envelope, decodeMessage('runtime.TypeMeta', reader.bytes(), 0));
    else if (number === 2 && wireType === WIRE_BYTES) envelope.raw = reader.bytes();
    else reader.skip(wireType);
  }
  return envelope;
}

function decodeMessage(name: string, bytes: Uint8Array, depth: number): ProtobufJson {
  if (depth > MESSAGE_DEPTH_MAX) throw new WireError('message is nested too deeply');
  const fields = messageOf(name);
  const reader = new WireReader(bytes);
  const object: ProtobufJson = {};
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    const field = fields.get(number);
    if (field === undefined) reader.skip(wireType);
    else addField(object, field, readValue(reader, field, wireType, depth));
  }
  return object;
}

function addField(object: ProtobufJson, field: WireField, value: unknown): void {
  if (field.inline) Object.assign(object, value);
  else if (field.shape === 'list') listOf(object, field.json).push(value);
  else if (field.shape === 'map') mergeEntry(object, field.json, value);
  else if (value !== undefined && (field.keepsZero || !isZero(value))) object[field.json] = value;
}

function listOf(object: ProtobufJson, name: string): unknown[] {
  const known = object[name];
  if (Array.isArray(known)) return known;
  const made: unknown[] = [];
  object[name] = made;
  return made;
}

/** Keys such as `__proto__` stay plain data. */
function mergeEntry(object: ProtobufJson, name: string, entry: unknown): void {
  const { key, value } = entry as { key: string; value: unknown };
  const known = (object[name] ??= {}) as object;
  Object.defineProperty(known, key, { value, enumerable: true, configurable: true, writable: true });
}

function readValue(reader: WireReader, field: WireField, wireType: number, depth: number): unknown {
  if (field.shape === 'map') return readEntry(reader.bytes(), field.type, depth);
  return readSingle(reader, field.type, wireType, depth);
}

function readEntry(bytes: Uint8Array, type: string, depth: number): { key: string; value: unknown } {
  const reader = new WireReader(bytes);
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
        ? decodeMessage(type, reader.bytes(), depth + 1)
        : special(reader.bytes(), (message, bytes) => decodeMessage(message, bytes, depth + 2));
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
