import type { ApiOperation } from './operations.ts';
import { ProtobufWriter } from './protobuf-writer.ts';
import type { JsonSchema } from './schemas.ts';
import type { SwaggerDocument, SwaggerOperation, SwaggerParameter, SwaggerPath } from './version-2.ts';

/** Field numbers of the messages of `openapi.v2`, the wire form in which kubectl asks for this document. */
const DOCUMENT = { swagger: 1, info: 2, paths: 8, definitions: 9 } as const;
const INFO = { title: 1, version: 2 } as const;
const NAMED = { name: 1, value: 2 } as const;
const PATHS = { path: 2 } as const;
const PATH_METHOD: Readonly<Record<ApiOperation['method'], number>> = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };
const PATH_PARAMETERS = 9;
const OPERATION = { parameters: 8, responses: 9, vendorExtension: 13 } as const;
const PARAMETERS_ITEM = { parameter: 1 } as const;
const PARAMETER = { body: 1, nonBody: 2 } as const;
const NON_BODY = { query: 3, path: 4 } as const;
const BODY_PARAMETER = { name: 2, in: 3, required: 4, schema: 5 } as const;
const QUERY_PARAMETER = { required: 1, in: 2, name: 4, type: 6 } as const;
const PATH_PARAMETER = { required: 1, in: 2, name: 4, type: 5 } as const;
const RESPONSES = { code: 1 } as const;
const RESPONSE_VALUE = { response: 1 } as const;
const RESPONSE = { description: 1, schema: 2 } as const;
const SCHEMA_ITEM = { schema: 1 } as const;
const SCHEMA = {
  ref: 1,
  format: 2,
  required: 19,
  additionalProperties: 21,
  type: 22,
  items: 23,
  properties: 25,
  vendorExtension: 31,
} as const;
const LIST_OF_ONE = 1;
const ANY_YAML = 2;

export function swaggerProtobuf(document: SwaggerDocument): Uint8Array {
  return new ProtobufWriter()
    .text(DOCUMENT.swagger, document.swagger)
    .message(DOCUMENT.info, (info) => {
      info.text(INFO.title, document.info.title).text(INFO.version, document.info.version);
    })
    .message(DOCUMENT.paths, (paths) => {
      for (const [name, path] of Object.entries(document.paths)) {
        paths.message(PATHS.path, (entry) => {
          entry.text(NAMED.name, name).message(NAMED.value, (value) => writePath(value, path));
        });
      }
    })
    .message(DOCUMENT.definitions, (definitions) => writeNamedSchemas(definitions, 1, document.definitions))
    .bytes();
}

function writePath(writer: ProtobufWriter, path: SwaggerPath): void {
  for (const method of ['get', 'put', 'post', 'delete', 'patch'] as const) {
    const operation = path.operations[method];
    if (operation !== undefined) writer.message(PATH_METHOD[method], (value) => writeOperation(value, operation));
  }
  for (const parameter of path.parameters ?? []) {
    writer.message(PATH_PARAMETERS, (item) => writeParameter(item, parameter));
  }
}

function writeOperation(writer: ProtobufWriter, operation: SwaggerOperation): void {
  for (const parameter of operation.parameters) {
    writer.message(OPERATION.parameters, (item) => writeParameter(item, parameter));
  }
  writer.message(OPERATION.responses, (responses) => {
    responses.message(RESPONSES.code, (named) => {
      named.text(NAMED.name, '200').message(NAMED.value, (value) => {
        value.message(RESPONSE_VALUE.response, (response) => {
          response.text(RESPONSE.description, 'OK').message(RESPONSE.schema, (item) => {
            item.message(SCHEMA_ITEM.schema, (schema) => writeSchema(schema, operation.response));
          });
        });
      });
    });
  });
  if (operation.of === undefined) return;
  writeExtension(writer, OPERATION.vendorExtension, 'x-kubernetes-action', operation.of.action);
  writeExtension(writer, OPERATION.vendorExtension, 'x-kubernetes-group-version-kind', operation.of.kind);
}

function writeParameter(writer: ProtobufWriter, parameter: SwaggerParameter): void {
  const { name, required, type, schema } = parameter;
  writer.message(PARAMETERS_ITEM.parameter, (either) => {
    if (parameter.in === 'body') {
      either.message(PARAMETER.body, (body) => {
        body.text(BODY_PARAMETER.name, name).text(BODY_PARAMETER.in, 'body').flag(BODY_PARAMETER.required, required);
        body.message(BODY_PARAMETER.schema, (value) => writeSchema(value, schema ?? {}));
      });
      return;
    }
    const fields = parameter.in === 'query' ? QUERY_PARAMETER : PATH_PARAMETER;
    either.message(PARAMETER.nonBody, (nonBody) => {
      nonBody.message(parameter.in === 'query' ? NON_BODY.query : NON_BODY.path, (value) => {
        value
          .flag(fields.required, required)
          .text(fields.in, parameter.in)
          .text(fields.name, name)
          .text(fields.type, type);
      });
    });
  });
}

function writeNamedSchemas(writer: ProtobufWriter, field: number, schemas: Readonly<Record<string, JsonSchema>>): void {
  for (const [name, schema] of Object.entries(schemas)) {
    writer.message(field, (entry) => {
      entry.text(NAMED.name, name).message(NAMED.value, (value) => writeSchema(value, schema));
    });
  }
}

function writeSchema(writer: ProtobufWriter, schema: JsonSchema): void {
  writer.text(SCHEMA.ref, textOf(schema['$ref'])).text(SCHEMA.format, textOf(schema['format']));
  for (const name of textsOf(schema['required'])) writer.text(SCHEMA.required, name);
  const additional = schemaOf(schema['additionalProperties']);
  if (additional !== undefined) {
    writer.message(SCHEMA.additionalProperties, (item) => {
      item.message(SCHEMA_ITEM.schema, (value) => writeSchema(value, additional));
    });
  }
  const type = textOf(schema['type']);
  if (type !== undefined) writer.message(SCHEMA.type, (value) => value.text(LIST_OF_ONE, type));
  const items = schemaOf(schema['items']);
  if (items !== undefined) {
    writer.message(SCHEMA.items, (list) => list.message(LIST_OF_ONE, (value) => writeSchema(value, items)));
  }
  const properties = schemaOf(schema['properties']);
  if (properties !== undefined) {
    writer.message(SCHEMA.properties, (value) => writeNamedSchemas(value, 1, schemasOf(properties)));
  }
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('x-')) writeExtension(writer, SCHEMA.vendorExtension, key, value);
  }
}

/** Extensions travel as YAML text; JSON is YAML. */
export function writeExtension(writer: ProtobufWriter, field: number, name: string, value: unknown): void {
  writer.message(field, (entry) => {
    entry.text(NAMED.name, name).message(NAMED.value, (any) => any.text(ANY_YAML, `${JSON.stringify(value)}\n`));
  });
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

const schemaOf = (value: unknown): JsonSchema | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;

const schemasOf = (value: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(Object.entries(value).map(([name, each]) => [name, schemaOf(each) ?? {}]));
