import {
  each,
  flag,
  inside,
  message,
  named,
  objectOf,
  orReference,
  protobufDocument,
  text,
  type Write,
} from './protobuf-fields.ts';

/** Field numbers of the messages of `openapi.v2`, the wire form in which kubectl asks for this document. */

const schema: Write = message(
  () => ({
    $ref: [1, text],
    format: [2, text],
    required: [19, each(text)],
    additionalProperties: [21, inside(schema)],
    type: [22, inside(text)],
    items: [23, inside(schema)],
    properties: [25, named(schema)],
  }),
  31,
);

const body = message(() => ({ name: [2, text], in: [3, text], required: [4, flag], schema: [5, schema] }), 6);

const query = message(
  () => ({ required: [1, flag], in: [2, text], name: [4, text], type: [6, text], uniqueItems: [20, flag] }),
  23,
);

const path = message(
  () => ({ required: [1, flag], in: [2, text], name: [4, text], type: [5, text], uniqueItems: [19, flag] }),
  22,
);

const BODY = 1;
const NON_BODY = 2;
const QUERY = 3;
const PATH = 4;

/** One message for each place where a parameter can be. */
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
export const openApi2Protobuf = (document: unknown): Uint8Array =>
  protobufDocument(document, {
    fields: {
      swagger: [1, text],
      info: [2, info],
      paths: [8, named(pathItem, 2)],
      definitions: [9, named(schema)],
      parameters: [10, named(parameter)],
      security: [12, each(requirement)],
      securityDefinitions: [13, named(inside(apiKey, API_KEY))],
    },
    extensions: 16,
  });
