import { invariant } from '@holdfast/platform';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Writes a value of a JSON document as a field of a message of its wire form. */
export type Write = (writer: ProtobufWriter, field: number, value: unknown) => void;
export type Fields = Readonly<Record<string, readonly [field: number, write: Write]>>;

export const text: Write = (writer, field, value) => writer.text(field, String(value));
export const flag: Write = (writer, field, value) => writer.flag(field, value === true);

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

/** One of two messages: the thing itself, or where it stands. */
export const orReference =
  (item: Write): Write =>
  (writer, field, value) =>
    writer.message(field, (either) => {
      const { $ref } = objectOf(value);
      if (typeof $ref !== 'string') item(either, 1, value);
      else either.message(REFERENCE, (reference) => text(reference, 1, $ref));
    });

/** A message with a field for each member of the JSON object, and one for what begins with `x-`. The fields are asked for late: messages hold each other. */
export const message =
  (fields: () => Fields, extensions: number): Write =>
  (writer, field, value) =>
    writer.message(field, (inner) => writeMembers(inner, value, { fields: fields(), extensions }));

export interface Members {
  readonly fields: Fields;
  readonly extensions: number;
}

function writeMembers(writer: ProtobufWriter, value: unknown, { fields, extensions }: Members): void {
  for (const [key, member] of Object.entries(objectOf(value))) {
    if (key.startsWith('x-')) {
      writeExtension(writer, extensions, key, member);
      continue;
    }
    const known = fields[key];
    invariant(known !== undefined, 'every member of the document has a field', { key });
    const [field, write] = known;
    write(writer, field, member);
  }
}

const ANY_YAML = 2;

/** Extensions travel as YAML text; JSON is YAML. */
function writeExtension(writer: ProtobufWriter, field: number, name: string, value: unknown): void {
  writer.message(field, (entry) => {
    entry.text(1, name).message(2, (any) => any.text(ANY_YAML, `${JSON.stringify(value)}\n`));
  });
}

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> => value as Record<string, unknown>;

/** A whole document in its wire form. */
export function protobufDocument(document: unknown, members: Members): Uint8Array {
  const writer = new ProtobufWriter();
  writeMembers(writer, document, members);
  return writer.bytes();
}
