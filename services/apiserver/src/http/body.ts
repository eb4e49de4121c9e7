import type { KubeObject } from '@holdfast/api';
import type { ApiRequest } from '@holdfast/client';
import {
  badRequest,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  jsonTypeName,
  type ParsedJson,
  parseJson,
  StatusError,
} from '@holdfast/machinery';
import { BODY_DEPTH_MAX, REQUEST_BODY_BYTES_MAX } from '../limits.ts';
import { groupVersion } from '../served.ts';
import { parseYamlText } from './yaml.ts';

export function bodyText(request: ApiRequest): string {
  const { body } = request;
  if (body === undefined) return '';
  if (body.length > REQUEST_BODY_BYTES_MAX) throw bodyTooLarge();
  return typeof body === 'string' ? body : UTF8.decode(body);
}

const UTF8 = new TextDecoder();

export function mediaTypeOf(request: ApiRequest): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

export type BodyFormat = 'json' | 'yaml';

/** 415 for anything that is neither JSON nor YAML; no content type means JSON. */
export function bodyFormat(request: ApiRequest): BodyFormat {
  const type = mediaTypeOf(request);
  if (type === '' || type === 'application/json') return 'json';
  if (type === 'application/yaml') return 'yaml';
  throw unsupportedMediaType(['application/json', 'application/yaml']);
}

export interface ParsedDocument {
  readonly value: JsonObject;
  /** `duplicate field "data.a"`, in the order of the text. */
  readonly duplicates: readonly string[];
}

/** Parses a document; `wanted` is named when it is none at all. */
export function parseDocument(text: string, format: BodyFormat, wanted: string): ParsedDocument {
  const { value, duplicates } = format === 'json' ? parseJsonText(text, wanted) : parseYamlText(text);
  refuseTooDeep(value);
  if (isJsonObject(value)) return { value, duplicates };
  throw unrecognized(
    wanted,
    `json: cannot unmarshal ${jsonTypeName(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  );
}

function parseJsonText(text: string, wanted: string): ParsedJson {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw unrecognized(wanted, `${error.message} (${shorten(text)})`);
    throw error;
  }
}

const unrecognized = (wanted: string, why: string): StatusError =>
  badRequest(
    `the object provided is unrecognized (must be of type ${wanted}): couldn't get version/kind; json parse error: ${why}`,
  );

function shorten(text: string): string {
  const limit = 2_048;
  return text.length <= limit ? text : `${text.slice(0, limit)}...`;
}

function refuseTooDeep(value: Json, depth = 0): void {
  if (depth > BODY_DEPTH_MAX) throw badRequest(`the object is nested more than ${BODY_DEPTH_MAX} levels deep`);
  if (typeof value !== 'object' || value === null) return;
  if (isJsonArray(value)) {
    for (const item of value) refuseTooDeep(item, depth + 1);
    return;
  }
  for (const key in value) refuseTooDeep(value[key] ?? null, depth + 1);
}

export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Gives the document its kind, or refuses another kind than the path serves. */
export function asKind(document: JsonObject, definition: Kind): KubeObject {
  const apiVersion = textField(document, 'apiVersion');
  const kind = textField(document, 'kind');
  const wanted = groupVersion(definition);
  if ((kind !== '' && kind !== definition.kind) || (apiVersion !== '' && apiVersion !== wanted)) {
    throw otherKind(definition, apiVersion, kind);
  }
  const metadata = document['metadata'] ?? {};
  if (!isJsonObject(metadata))
    throw badRequest(
      `${definition.kind} in version "${definition.version}" cannot be handled as a ${definition.kind}: json: cannot unmarshal ${jsonTypeName(metadata)} into Go struct field ${definition.kind}.metadata of type v1.ObjectMeta`,
    );
  return { ...document, apiVersion: wanted, kind: definition.kind, metadata: { ...metadata } } as KubeObject;
}

function textField(document: JsonObject, field: 'apiVersion' | 'kind'): string {
  const value = document[field] ?? '';
  if (typeof value === 'string') return value;
  throw badRequest(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeName(value)} into Go struct field .${field} of type string`,
  );
}

function otherKind(definition: Kind, apiVersion: string, kind: string): StatusError {
  const version = apiVersion.split('/').at(-1) ?? '';
  if (kind === definition.kind) {
    return badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${groupVersion(definition)})`,
    );
  }
  const internal = definition.group === '' ? 'core' : (definition.group.split('.')[0] ?? '');
  return badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${definition.kind}: converting (${version}.${kind}) to (${internal}.${definition.kind}): unknown conversion`,
  );
}

export function bodyTooLarge(): StatusError {
  return new StatusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${REQUEST_BODY_BYTES_MAX}`,
  });
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  });
}
