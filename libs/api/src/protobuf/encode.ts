import { messageOf, type WireField } from './message-table.ts';
import { LIST_MESSAGES, SPECIAL_WRITERS, textOf, type WriteContent } from './special-writers.ts';
import { WIRE_64_BIT, WIRE_BYTES, WIRE_VARINT } from './wire.ts';
import { WireWriter } from './wire-writer.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Encodes a message as Kubernetes does: non-pointer fields always, even when zero; fields by number, map entries by
 * key.
 */
export function encodeMessage(name: string, value: object): Buffer {
  const writer = new WireWriter();
  writeMessage(writer, name, value);
  return writer.finishToKeep();
}

const lending = new WireWriter();

/** The same for a caller that copies the result at once: it is valid until the next call. */
export function lendMessage(name: string, value: object): Buffer {
  lending.begin();
  writeMessage(lending, name, value);
  return lending.lend();
}

interface WrittenField extends WireField {
  readonly number: number;
  /** Field number and wire type of one value. */
  readonly tag: number;
  readonly special: WriteContent | undefined;
  readonly hasZero: boolean;
}

/** From the last field to the first, in the order of the writer. */
const plans = new Map<string, readonly WrittenField[]>();

function planOf(name: string): readonly WrittenField[] {
  const known = plans.get(name);
  if (known !== undefined) return known;
  const plan = [...messageOf(name)].toSorted(([a], [b]) => b - a).map(([number, field]) => writtenField(number, field));
  plans.set(name, plan);
  return plan;
}

const writtenField = (number: number, field: WireField): WrittenField => ({
  ...field,
  number,
  tag: number * 8 + wireTypeOf(field.type),
  special: SPECIAL_WRITERS.get(field.type),
  hasZero: field.shape === 'one' && !field.isPointer && field.type !== 'y' && !LIST_MESSAGES.has(field.type),
});

const wireTypeOf = (type: string): number =>
  type === 'b' || type === 'i' ? WIRE_VARINT : type === 'd' ? WIRE_64_BIT : WIRE_BYTES;

function writeMessage(writer: WireWriter, name: string, value: object): void {
  for (const field of planOf(name)) writeField(writer, field, value as Json);
}

function writeField(writer: WireWriter, field: WrittenField, object: Json): void {
  const value = field.inline ? object : object[field.json];
  if (value === undefined || value === null) {
    if (field.hasZero) writeOne(writer, field, undefined);
    return;
  }
  if (field.shape === 'list') writeList(writer, field, value as readonly unknown[]);
  else if (field.shape === 'map') writeMap(writer, field, value as Json);
  else writeOne(writer, field, value);
}

function writeList(writer: WireWriter, field: WrittenField, values: readonly unknown[]): void {
  for (let i = values.length - 1; i >= 0; i--) writeOne(writer, field, values[i]);
}

function writeMap(writer: WireWriter, field: WrittenField, entries: Json): void {
  const keys = Object.keys(entries).toSorted();
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] ?? '';
    const before = writer.length;
    writeValue(writer, field, entries[key]);
    writer.varint(VALUE * 8 + wireTypeOf(field.type));
    writer.text(key);
    writer.varint(KEY * 8 + WIRE_BYTES);
    writer.close(field.number, before);
  }
}

/** Field number of a map entry's key. */
const KEY = 1;
const VALUE = 2;

function writeOne(writer: WireWriter, field: WrittenField, value: unknown): void {
  writeValue(writer, field, value);
  writer.varint(field.tag);
}

/** Includes the length where the type has one; absent is zero. */
function writeValue(writer: WireWriter, { type, special }: WrittenField, value: unknown): void {
  switch (type) {
    case 's':
      return writer.text(textOf(value));
    case 'b':
      return writer.varint(value === true ? 1 : 0);
    case 'i':
      return writer.varint(Number(value ?? 0));
    case 'd':
      return writer.double(Number(value ?? 0));
    case 'y':
      return writer.bytes(Buffer.from(textOf(value), 'base64'));
    default: {
      const before = writer.length;
      if (special !== undefined) special(writer, value, writeMessage);
      else writeMessage(writer, type, typeof value === 'object' && value !== null ? value : NOTHING);
      writer.varint(writer.length - before);
    }
  }
}

const NOTHING: Json = {};
