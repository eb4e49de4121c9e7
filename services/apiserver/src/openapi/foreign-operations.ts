import { isJsonArray, isJsonObject, type Json, type JsonObject, ownValue } from '@holdfast/machinery';
import { copySchema, entriesOf, extensionValue, type RenameReference } from './foreign-schemas.ts';

/** Paths and parameters of an OpenAPI 2 document that another server wrote. */

export interface Renames {
  readonly definition: RenameReference;
  readonly parameter: RenameReference;
}

const PARAMETER_PREFIX = '#/parameters/';
const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch']);
const PLAIN_PARAMETER: ReadonlySet<string> = new Set(['name', 'in', 'description', 'type', 'required', 'uniqueItems']);
const BODY_PARAMETER: ReadonlySet<string> = new Set(['name', 'in', 'description', 'schema', 'required']);
/** By the position of a parameter. */
const MEMBERS: ReadonlyMap<Json | undefined, ReadonlySet<string>> = new Map([
  ['query', PLAIN_PARAMETER],
  ['path', PLAIN_PARAMETER],
  ['body', BODY_PARAMETER],
]);

/** A copy of what OpenAPI clients of Kubernetes read of a path. Throws when they could not read it. */
export function copyPathItem(item: Json, renames: Renames): JsonObject {
  const copied = entriesOf(item).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
    if (METHODS.has(key)) return [[key, copyOperation(value, renames)]];
    if (key === 'parameters') return [[key, copyParameters(value, renames)]];
    return key.startsWith('x-') ? [[key, extensionValue(key, value)]] : [];
  });
  return Object.fromEntries(copied);
}

function copyOperation(operation: Json, renames: Renames): JsonObject {
  const copied = entriesOf(operation).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
    if (key === 'parameters') return [[key, copyParameters(value, renames)]];
    if (key === 'responses') return [[key, copyResponses(value, renames)]];
    if (key.startsWith('x-')) return [[key, extensionValue(key, value)]];
    return isPlainMember(key, value) ? [[key, value]] : [];
  });
  return Object.fromEntries(copied);
}

function isPlainMember(key: string, value: Json): boolean {
  if (key === 'description' || key === 'operationId') return typeof value === 'string';
  const isList = key === 'tags' || key === 'consumes' || key === 'produces' || key === 'schemes';
  return isList && isJsonArray(value) && value.every((each) => typeof each === 'string');
}

const copyResponses = (responses: Json, renames: Renames): JsonObject =>
  Object.fromEntries(
    entriesOf(responses)
      .filter(([, answer]) => isJsonObject(answer) && !Object.hasOwn(answer, '$ref'))
      .map(([status, answer]) => [status, copyResponse(answer as JsonObject, renames)]),
  );

function copyResponse(answer: JsonObject, { definition }: Renames): JsonObject {
  const { description, schema } = answer;
  return {
    description: typeof description === 'string' ? description : '',
    ...(schema === undefined ? {} : { schema: copySchema(schema, definition) }),
  };
}

function copyParameters(parameters: Json, renames: Renames): readonly Json[] {
  if (!isJsonArray(parameters)) throw new Error('the parameters of a path are not a list');
  return parameters.map((each) => copyParameter(each, renames)).filter((each) => each !== undefined);
}

/** `undefined` for parameters of headers and forms, which nothing in Kubernetes has. */
export function copyParameter(parameter: Json, { definition, parameter: rename }: Renames): JsonObject | undefined {
  if (!isJsonObject(parameter)) throw new Error('a parameter is not an object');
  const reference = ownValue(parameter, '$ref');
  if (reference !== undefined) {
    if (typeof reference !== 'string' || !reference.startsWith(PARAMETER_PREFIX)) {
      throw new Error('a reference does not lead to a parameter');
    }
    return { $ref: `${PARAMETER_PREFIX}${rename(reference.slice(PARAMETER_PREFIX.length))}` };
  }
  const members = MEMBERS.get(ownValue(parameter, 'in'));
  if (members === undefined) return undefined;
  const copied = Object.entries(parameter)
    .filter(([key, value]) => key.startsWith('x-') || (members.has(key) && isParameterMember(key, value)))
    .map(([key, value]) => {
      if (key === 'schema') return [key, copySchema(value, definition)] as const;
      return [key, key.startsWith('x-') ? extensionValue(key, value) : value] as const;
    });
  return Object.fromEntries(copied);
}

function isParameterMember(key: string, value: Json): boolean {
  if (key === 'required' || key === 'uniqueItems') return typeof value === 'boolean';
  return key === 'schema' || typeof value === 'string';
}
