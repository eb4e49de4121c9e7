import { invariant } from '@holdfast/platform';
import type { Parts } from '../turns/parts.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Writes a value of a JSON document as a field of a message of its wire form. */
export type Write = (writer: ProtobufWriter, field: number, value: unknown) => void;
export type Fields = Readonly<Record<string, readonly [field: number, write: Write]>>;

export const text: Write = (writer, field, value) => writer.text(field, String(value));
export const double: Write = (writer, field, value) => writer.double(field, Number(value));
export const integer: Write = (writer, field, value) => writer.integer(field, Math.max(0, Math.trunc(Number(value))));
export const flag: Write = (writer, field, value) => writer.flag(field, value === true);

/** Any JSON travels as YAML text; JSON is YAML. */
export const anything: Write = (writer, field, value) =>
  writer.message(field, (any) => any.text(ANY_YAML, `${JSON.stringify(value)}\n`));

const ANY_YAML = 2;
const FLAG = 2;

/** One of two messages: the type of the values, or whether any are allowed. */
export const orFlag =
  (item: Write): Write =>
  (writer, field, value) =>
    writer.message(field, (either) => {
      if (typeof value === 'boolean') either.presentFlag(FLAG, value);
      else item(either, 1, value);
    });

export const each =
  (item: Write): Write =>
  (writer, field, value) => {
    invariant(Array.isArray(value), 'a repeated field is a list');
    for (const one of value) item(writer, field, one);
  };

/** A message that only wraps another. */
export const inside =
  (item: Write, number = 1): Write =>
  (writer, field, value) =>
    writer.message(field, (wrapper) => item(wrapper, number, value));

/** A message of names and values. */
export const named =
  (item: Write, entries = 1): Write =>
  (writer, field, value) =>
    writer.message(field, (map) => {
      for (const [name, one] of Object.entries(objectOf(value))) {
        map.message(entries, (entry) => item(entry.text(1, name), 2, one));
      }
    });

const REFERENCE = 2;

/** One of two messages: the value itself, or a reference. */
export const orReference =
  (item: Write): Write =>
  (writer, field, value) =>
    writer.message(field, (either) => {
      const { $ref } = objectOf(value);
      if (typeof $ref !== 'string') item(either, 1, value);
      else either.message(REFERENCE, (reference) => text(reference, 1, $ref));
    });

/**
 * A message with a field for each member of the JSON object, and one for `x-` extensions. The fields are evaluated
 * lazily, because messages are recursive.
 */
export const message =
  (fields: () => Fields, extensions: number): Write =>
  (writer, field, value) =>
    writer.message(field, (inner) => writeMembers(inner, value, { fields: fields(), extensions }));

export const openMessage =
  (fields: () => Fields, extensions: number): Write =>
  (writer, field, value) =>
    writer.message(field, (inner) => writeMembers(inner, value, { fields: fields(), extensions, isOpen: true }));

export interface Members {
  readonly fields: Fields;
  readonly extensions: number;
  /** Schemas of definitions come from users: what the form has no field for is left out. */
  readonly isOpen?: true;
}

function writeMembers(writer: ProtobufWriter, value: unknown, { fields, extensions, isOpen }: Members): void {
  for (const [key, member] of Object.entries(objectOf(value))) {
    if (key.startsWith('x-')) {
      writeExtension(writer, extensions, key, member);
      continue;
    }
    const known = fields[key];
    if (known === undefined && isOpen === true) continue;
    invariant(known !== undefined, 'every member of the document has a field', { key });
    const [field, write] = known;
    write(writer, field, member);
  }
}

function writeExtension(writer: ProtobufWriter, field: number, name: string, value: unknown): void {
  writer.message(field, (entry) => anything(entry.text(1, name), 2, value));
}

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> => value as Record<string, unknown>;

/** Members of a document that are long maps: by their field, and how one of their values is written. */
export type LongMaps = Readonly<Record<string, readonly [field: number, item: Write]>>;

/** A whole document in its wire form. */
export function* protobufParts(document: unknown, members: Members & { readonly maps: LongMaps }): Parts<Uint8Array> {
  const writer = new ProtobufWriter();
  for (const [key, member] of Object.entries(objectOf(document))) {
    const map = members.maps[key];
    if (map === undefined) {
      writeMembers(writer, { [key]: member }, members);
      continue;
    }
    const [field, item] = map;
    const entries: Uint8Array[] = [];
    for (const [name, one] of Object.entries(objectOf(member))) {
      const entry = new ProtobufWriter();
      item(entry, 0, [name, one]);
      entries.push(entry.bytes());
      yield;
    }
    writer.delimited(field, Buffer.concat(entries));
  }
  return writer.bytes();
}

/** One map entry, as `named` writes it. */
export const entryOf =
  (item: Write, entries = 1): Write =>
  (writer, _field, value) => {
    const [name, one] = value as readonly [string, unknown];
    writer.message(entries, (entry) => item(entry.text(1, name), 2, one));
  };
