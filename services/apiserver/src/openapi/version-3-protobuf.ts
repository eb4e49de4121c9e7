import type { Parts } from '../turns/parts.ts';
import {
  anything,
  double,
  each,
  entryOf,
  flag,
  inside,
  integer,
  message,
  named,
  openMessage,
  orFlag,
  orReference,
  protobufParts,
  text,
  type Write,
} from './protobuf-fields.ts';

/** One of three; an empty object is encoded by its presence. */
const defaultValue: Write = (writer, field, value) =>
  writer.message(field, (inner) => {
    if (typeof value === 'number' || typeof value === 'bigint') inner.double(1, Number(value));
    else if (typeof value === 'boolean') inner.presentFlag(2, value);
    else if (typeof value === 'string') inner.presentText(3, value);
  });

const externalDocs = message(() => ({ description: [1, text], url: [2, text] }), 3);

const plainSchema: Write = openMessage(
  () => ({
    nullable: [1, flag],
    externalDocs: [6, externalDocs],
    example: [7, anything],
    title: [9, text],
    multipleOf: [10, double],
    maximum: [11, double],
    exclusiveMaximum: [12, flag],
    minimum: [13, double],
    exclusiveMinimum: [14, flag],
    maxLength: [15, integer],
    minLength: [16, integer],
    pattern: [17, text],
    maxItems: [18, integer],
    minItems: [19, integer],
    uniqueItems: [20, flag],
    maxProperties: [21, integer],
    minProperties: [22, integer],
    required: [23, each(text)],
    enum: [24, each(anything)],
    type: [25, text],
    allOf: [26, each(schema)],
    oneOf: [27, each(schema)],
    anyOf: [28, each(schema)],
    not: [29, plainSchema],
    items: [30, inside(schema)],
    properties: [31, named(schema)],
    additionalProperties: [32, orFlag(schema)],
    default: [33, defaultValue],
    description: [34, text],
    format: [35, text],
  }),
  36,
);
const schema: Write = orReference(plainSchema);

const content = named(message(() => ({ schema: [1, schema] }), 5));

const parameter = orReference(
  message(
    () => ({ name: [1, text], in: [2, text], description: [3, text], required: [4, flag], schema: [10, schema] }),
    14,
  ),
);
const parameters = each(parameter);

const requestBody = orReference(
  message(() => ({ description: [1, text], content: [2, content], required: [3, flag] }), 4),
);
const response = orReference(message(() => ({ description: [1, text], content: [3, content] }), 5));

const operation = message(
  () => ({
    tags: [1, each(text)],
    description: [3, text],
    operationId: [5, text],
    parameters: [6, parameters],
    requestBody: [7, requestBody],
    responses: [8, named(response, 2)],
  }),
  13,
);

const pathItem = message(
  () => ({
    get: [4, operation],
    put: [5, operation],
    post: [6, operation],
    delete: [7, operation],
    options: [8, operation],
    head: [9, operation],
    patch: [10, operation],
    parameters: [13, parameters],
  }),
  14,
);

const securityScheme = orReference(
  message(() => ({ type: [1, text], description: [2, text], name: [3, text], in: [4, text] }), 9),
);
const components = message(
  () => ({
    schemas: [1, named(schema)],
    parameters: [3, named(parameter)],
    requestBodies: [5, named(requestBody)],
    securitySchemes: [7, named(securityScheme)],
  }),
  10,
);
const info = message(() => ({ title: [1, text], version: [6, text] }), 7);

/** An OpenAPI 3 document in the wire form of `openapi.v3`. */
export const openApi3Protobuf = (document: unknown): Parts<Uint8Array> =>
  protobufParts(document, {
    fields: { openapi: [1, text], info: [2, info], components: [5, components] },
    maps: { paths: [4, entryOf(pathItem)] },
    extensions: 9,
  });
