import { invariant } from '@holdfast/platform';
import { ProtobufWriter } from './protobuf-writer.ts';
import { writeExtension } from './version-2-protobuf.ts';

/** Writes a value of the JSON document as a field of a message of `openapi.v3`. */
type Write = (writer: ProtobufWriter, field: number, value: unknown) => void;
type Fields = Readonly<Record<string, readonly [field: number, write: Write]>>;

const text: Write = (writer, field, value) => writer.text(field, String(value));
const flag: Write = (writer, field, value) => writer.flag(field, value === true);

const each =
  (item: Write): Write =>
  (writer, field, value) => {
    invariant(Array.isArray(value), 'a repeated field is a list');
    for (const one of value) item(writer, field, one);
  };

/** A message that only wraps another. */
const inside =
  (item: Write): Write =>
  (writer, field, value) =>
    writer.message(field, (wrapper) => item(wrapper, 1, value));

/** A message of names and values. */
const named =
  (item: Write, entries = 1): Write =>
  (writer, field, value) =>
    writer.message(field, (map) => {
      for (const [name, one] of Object.entries(objectOf(value))) {
        map.message(entries, (entry) => item(entry.text(1, name), 2, one));
      }
    });

const REFERENCE = 2;

/** One of two messages: the thing itself, or where it stands. */
const orReference =
  (item: Write): Write =>
  (writer, field, value) =>
    writer.message(field, (either) => {
      const { $ref } = objectOf(value);
      if ($ref === undefined) item(either, 1, value);
      else either.message(REFERENCE, (reference) => text(reference, 1, $ref));
    });

/** A message with a field for each member of the JSON object, and one for what begins with `x-`. The fields are asked for late: messages hold each other. */
const message =
  (fields: () => Fields, extensions: number): Write =>
  (writer, field, value) =>
    writer.message(field, (inner) => writeMembers(inner, value, { fields: fields(), extensions }));

function writeMembers(
  writer: ProtobufWriter,
  value: unknown,
  { fields, extensions }: { readonly fields: Fields; readonly extensions: number },
): void {
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

const objectOf = (value: unknown): Readonly<Record<string, unknown>> => ({ ...(value as object) });

const schema: Write = orReference(
  message(
    () => ({
      required: [23, each(text)],
      type: [25, text],
      allOf: [26, each(schema)],
      items: [30, inside(schema)],
      properties: [31, named(schema)],
      additionalProperties: [32, inside(schema)],
      description: [34, text],
      format: [35, text],
    }),
    36,
  ),
);

const content = named(message(() => ({ schema: [1, schema] }), 5));

const parameters = each(
  orReference(
    message(
      () => ({ name: [1, text], in: [2, text], description: [3, text], required: [4, flag], schema: [10, schema] }),
      14,
    ),
  ),
);

const requestBody = orReference(message(() => ({ content: [2, content], required: [3, flag] }), 4));
const response = orReference(message(() => ({ description: [1, text], content: [3, content] }), 5));

const operation = message(
  () => ({ parameters: [6, parameters], requestBody: [7, requestBody], responses: [8, named(response, 2)] }),
  13,
);

const pathItem = message(
  () => ({
    get: [4, operation],
    put: [5, operation],
    post: [6, operation],
    delete: [7, operation],
    patch: [10, operation],
    parameters: [13, parameters],
  }),
  14,
);

const securityScheme = orReference(message(() => ({ type: [1, text], name: [3, text], in: [4, text] }), 9));
const components = message(() => ({ schemas: [1, named(schema)], securitySchemes: [7, named(securityScheme)] }), 10);
const info = message(() => ({ title: [1, text], version: [6, text] }), 7);

const DOCUMENT: Fields = {
  openapi: [1, text],
  info: [2, info],
  paths: [4, named(pathItem)],
  components: [5, components],
};
const DOCUMENT_EXTENSIONS = 9;

/** An OpenAPI 3 document in the wire form of `openapi.v3`. */
export function openApi3Protobuf(document: unknown): Uint8Array {
  const writer = new ProtobufWriter();
  writeMembers(writer, document, { fields: DOCUMENT, extensions: DOCUMENT_EXTENSIONS });
  return writer.bytes();
}
