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
  objectOf,
  openMessage,
  orFlag,
  orReference,
  protobufParts,
  text,
  type Write,
} from './protobuf-fields.ts';

/** Field numbers of the messages of `openapi.v2`, the wire form in which kubectl asks for this document. */

const externalDocs = message(() => ({ description: [1, text], url: [2, text] }), 3);

const schema: Write = openMessage(
  () => ({
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, anything],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, integer],
    minLength: [12, integer],
    pattern: [13, text],
    maxItems: [14, integer],
    minItems: [15, integer],
    uniqueItems: [16, flag],
    maxProperties: [17, integer],
    minProperties: [18, integer],
    required: [19, each(text)],
    enum: [20, each(anything)],
    additionalProperties: [21, orFlag(schema)],
    type: [22, inside(text)],
    items: [23, inside(schema)],
    allOf: [24, each(schema)],
    properties: [25, named(schema)],
    externalDocs: [29, externalDocs],
    example: [30, anything],
  }),
  31,
);

const body = message(
  () => ({ description: [1, text], name: [2, text], in: [3, text], required: [4, flag], schema: [5, schema] }),
  6,
);

const query = message(
  () => ({
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    uniqueItems: [20, flag],
  }),
  23,
);

const path = message(
  () => ({
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    uniqueItems: [19, flag],
  }),
  22,
);

const BODY = 1;
const NON_BODY = 2;
const QUERY = 3;
const PATH = 4;

/** One message for each position of a parameter. */
const parameter: Write = (writer, field, value) =>
  writer.message(field, (either) => {
    const place = objectOf(value)['in'];
    if (place === 'body') body(either, BODY, value);
    else if (place === 'query') inside(query, QUERY)(either, NON_BODY, value);
    else inside(path, PATH)(either, NON_BODY, value);
  });

const parameters = each(orReference(parameter));
const response = message(() => ({ description: [1, text], schema: [2, inside(schema)] }), 5);

const operation = message(
  () => ({
    tags: [1, each(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, each(text)],
    consumes: [7, each(text)],
    parameters: [8, parameters],
    responses: [9, named(inside(response))],
    schemes: [10, each(text)],
  }),
  13,
);

const pathItem = message(
  () => ({
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, parameters],
  }),
  10,
);

const info = message(() => ({ title: [1, text], version: [2, text] }), 7);
const apiKey = message(() => ({ type: [1, text], name: [2, text], in: [3, text], description: [4, text] }), 5);
const API_KEY = 2;
const requirement = named(message(() => ({}), 2));

/** An OpenAPI 2 document in the wire form of `openapi.v2`. */
export const openApi2Protobuf = (document: unknown): Parts<Uint8Array> =>
  protobufParts(document, {
    fields: {
      swagger: [1, text],
      info: [2, info],
      parameters: [10, named(parameter)],
      security: [12, each(requirement)],
      securityDefinitions: [13, named(inside(apiKey, API_KEY))],
    },
    maps: { paths: [8, entryOf(pathItem, 2)], definitions: [9, entryOf(schema)] },
    extensions: 16,
  });
