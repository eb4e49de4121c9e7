import { isJsonArray, isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import type { Parts } from '../turns/parts.ts';
import { DEFINITION_PREFIX } from './foreign-schemas.ts';
import type { ForeignPart } from './foreign-version-2.ts';

/** Each media type repeats the schema, so they are bounded. */
const MEDIA_TYPES_MAX = 8;
const ANY_MEDIA_TYPE = '*/*';
const PARAMETER_PREFIX = '#/parameters/';
const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch']);

/** The OpenAPI 3 document of a server that publishes only OpenAPI 2. */
export function* convertedToVersion3(part: ForeignPart, title: string): Parts<JsonObject> {
  const paths: [string, Json][] = [];
  for (const [path, item] of Object.entries(part.paths)) {
    paths.push([path, pathItem(objectOf(item), part.parameters)]);
    yield;
  }
  const schemas: [string, Json][] = [];
  for (const [name, definition] of Object.entries(part.definitions)) {
    schemas.push([name, schemaOf(definition)]);
    yield;
  }
  return {
    openapi: '3.0.0',
    info: { title, version: 'unversioned' },
    paths: Object.fromEntries(paths),
    components: { schemas: Object.fromEntries(schemas), ...sharedParameters(part.parameters) },
  };
}

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
const listOf = (value: Json | undefined): readonly Json[] => (isJsonArray(value) ? value : []);
const isBody = (parameter: Json | undefined): boolean => objectOf(parameter)['in'] === 'body';

function sharedParameters(shared: JsonObject): JsonObject {
  const [bodies, others] = [true, false].map((wanted) =>
    Object.entries(shared).filter(([, parameter]) => isBody(parameter) === wanted),
  );
  return {
    ...members('requestBodies', bodies, (parameter) => requestBody(parameter, undefined)),
    ...members('parameters', others, parameterOf),
  };
}

const members = (
  name: string,
  entries: readonly (readonly [string, Json])[] | undefined,
  convert: (value: JsonObject) => Json,
): JsonObject =>
  entries === undefined || entries.length === 0
    ? {}
    : { [name]: Object.fromEntries(entries.map(([key, value]) => [key, convert(objectOf(value))])) };

function pathItem(item: JsonObject, shared: JsonObject): JsonObject {
  const { parameters, ...others } = item;
  const converted = Object.entries(others).map(([key, value]) => [
    key,
    METHODS.has(key) ? operationOf(objectOf(value), shared) : value,
  ]);
  return {
    ...Object.fromEntries(converted),
    ...(parameters === undefined ? {} : { parameters: plainParameters(listOf(parameters), shared) }),
  };
}

function operationOf(operation: JsonObject, shared: JsonObject): JsonObject {
  const { consumes, produces, schemes: _schemes, parameters, responses, ...others } = operation;
  const all = listOf(parameters);
  const body = all.find((each) => isBody(resolved(each, shared)));
  return {
    ...others,
    ...(parameters === undefined ? {} : { parameters: plainParameters(all, shared) }),
    ...(body === undefined ? {} : { requestBody: bodyOf(objectOf(body), consumes) }),
    responses: Object.fromEntries(
      Object.entries(objectOf(responses)).map(([status, answer]) => [status, responseOf(objectOf(answer), produces)]),
    ),
  };
}

const plainParameters = (all: readonly Json[], shared: JsonObject): Json =>
  all.filter((each) => !isBody(resolved(each, shared))).map((each) => parameterOf(objectOf(each)));

/** The name of the shared parameter that a reference leads to. */
const sharedName = ({ $ref }: JsonObject): string | undefined =>
  typeof $ref === 'string' ? $ref.slice(PARAMETER_PREFIX.length) : undefined;

function resolved(parameter: Json, shared: JsonObject): Json | undefined {
  const name = sharedName(objectOf(parameter));
  return name === undefined ? parameter : ownValue(shared, name);
}

function parameterOf(parameter: JsonObject): JsonObject {
  const name = sharedName(parameter);
  if (name !== undefined) return { $ref: `#/components/parameters/${name}` };
  const { type, uniqueItems, ...others } = parameter;
  const schema = { ...(type === undefined ? {} : { type }), ...(uniqueItems === undefined ? {} : { uniqueItems }) };
  return { ...others, schema };
}

function bodyOf(parameter: JsonObject, consumes: Json | undefined): JsonObject {
  const name = sharedName(parameter);
  return name === undefined ? requestBody(parameter, consumes) : { $ref: `#/components/requestBodies/${name}` };
}

function requestBody(parameter: JsonObject, consumes: Json | undefined): JsonObject {
  const { description, required, schema } = parameter;
  return {
    ...(description === undefined ? {} : { description }),
    ...(required === undefined ? {} : { required }),
    content: contentOf(schema, consumes),
  };
}

const responseOf = ({ description = '', schema }: JsonObject, produces: Json | undefined): JsonObject => ({
  description,
  ...(schema === undefined ? {} : { content: contentOf(schema, produces) }),
});

function contentOf(schema: Json | undefined, mediaTypes: Json | undefined): JsonObject {
  const named = listOf(mediaTypes).filter((each) => typeof each === 'string');
  const types = named.length === 0 ? [ANY_MEDIA_TYPE] : named.slice(0, MEDIA_TYPES_MAX);
  const entry = schema === undefined ? {} : { schema: schemaOf(schema) };
  return Object.fromEntries(types.map((each) => [each, entry]));
}

/** The members of both versions are the same; only references lead to another place. */
function schemaOf(schema: Json): Json {
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, memberOf(key, value)]));
}

function memberOf(key: string, value: Json): Json {
  switch (key) {
    case '$ref':
      return typeof value === 'string' ? `#/components/schemas/${value.slice(DEFINITION_PREFIX.length)}` : value;
    case 'properties':
      return Object.fromEntries(Object.entries(objectOf(value)).map(([name, each]) => [name, schemaOf(each)]));
    case 'items':
    case 'additionalProperties':
      return schemaOf(value);
    case 'allOf':
      return listOf(value).map(schemaOf);
    default:
      return value;
  }
}
