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
import { groupVersion } from '../objects/object-keys.ts';
import { isKnownKind, notRegistered } from './known-kinds.ts';
import { bodyTooLarge } from './refusals.ts';
import { parseYamlText, YamlSyntaxError } from './yaml.ts';

export function bodyText(request: ApiRequest): string {
  const { body } = request;
  if (body === undefined) return '';
  if (body.length > REQUEST_BODY_BYTES_MAX) throw bodyTooLarge();
  return typeof body === 'string' ? body : UTF8.decode(body);
}

/** A mark of the byte order is no part of JSON. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

export function mediaTypeOf(request: ApiRequest): string {
  const type = request.headers['content-type'] ?? '';
  if (PLAIN_TYPES.has(type)) return type;
  return type.split(';')[0]?.trim().toLowerCase() ?? '';
}

/** The exact form of nearly all clients. */
const PLAIN_TYPES: ReadonlySet<string> = new Set([
  '',
  'application/json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]);

/** A body that was parsed elsewhere provides its result. */
export type BodyFormat = 'json' | 'yaml' | (() => ParsedJson);

const readAhead = new WeakMap<ApiRequest, () => ParsedJson>();

/** Records the result of parsing elsewhere; `read` throws its error. */
export const noteRead = (request: ApiRequest, read: () => ParsedJson): void =>
  void readAhead.set(request.asked ?? request, read);

export const isYaml = (request: ApiRequest): boolean => YAML_TYPES.has(mediaTypeOf(request));

const YAML_TYPES: ReadonlySet<string> = new Set(['application/yaml', 'application/apply-patch+yaml']);

/** A body whose only form is YAML. */
export const yamlFormat = (request: ApiRequest): BodyFormat => readAhead.get(request.asked ?? request) ?? 'yaml';

/** 415 for anything else; no content type means JSON. What came as protobuf is JSON by now. */
export function bodyFormat(request: ApiRequest): BodyFormat {
  const type = mediaTypeOf(request);
  if (type === '' || type === 'application/json') return 'json';
  if (type === 'application/yaml') return yamlFormat(request);
  throw unsupportedMediaType(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);
}

export interface ParsedDocument {
  readonly value: JsonObject;
  /** `duplicate field "data.a"`, in the order of the text. */
  readonly duplicates: readonly string[];
  /** For JSON: some number is not written as an integer, or is a long one. */
  readonly hasOddNumbers?: boolean;
  /** For JSON: as in `ParsedJson`. */
  readonly hugeNumber?: string | undefined;
}

/** Parses a document; the error for invalid text names `wanted`. */
export function parseDocument(text: string, format: BodyFormat, wanted: string): ParsedDocument {
  return parseRefusing(text, format, (why) => unrecognized(wanted, text, why));
}

/** As `parseDocument`, with another error message. */
export function parseRefusing(text: string, format: BodyFormat, refused: Refusal): ParsedDocument {
  const parsed = format === 'json' ? parseJsonText(text, refused) : parseYaml(text, format, refused);
  const { value, duplicates } = parsed;
  // In YAML, 1.0 becomes an integer on conversion to JSON.
  const hasOddNumbers = format === 'json' && parsed.hasOddNumbers === true;
  refuseTooDeep(value);
  if (isJsonObject(value)) return { value, duplicates, hasOddNumbers, hugeNumber: parsed.hugeNumber };
  // In Go, null sets no fields.
  if (value === null) return { value: {}, duplicates, hasOddNumbers };
  throw refused(noObject(value));
}

/** Why a value that is neither an object nor null has no kind. */
export const noObject = (value: Json): string =>
  `${NO_KIND}json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${KINDS}`;

type Refusal = (why: string) => StatusError;

const NO_KIND = "couldn't get version/kind; json parse error: ";
const KINDS = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function parseJsonText(text: string, refused: Refusal): ParsedJson {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw refused(`${NO_KIND}${error.message}`);
    throw error;
  }
}

function parseYaml(text: string, format: BodyFormat, refused: Refusal): ParsedJson {
  try {
    return readYamlText(text, format);
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw refused(error.message);
    throw error;
  }
}

/** Throws YamlSyntaxError, or StatusError 413. */
export function readYamlText(text: string, format: BodyFormat): ParsedJson {
  const parsed = typeof format === 'function' ? format() : parseYamlText(text);
  if (parsed.hugeNumber !== undefined) throw new YamlSyntaxError(noDouble(parsed.hugeNumber));
  return parsed;
}

/** Why a value with such a number cannot be kept. */
export const noDouble = (number: string): string =>
  `json: cannot unmarshal number ${number.length > NUMBER_CHARS_MAX ? `${number.slice(0, NUMBER_CHARS_MAX)}...` : number} into Go value of type float64`;

const NUMBER_CHARS_MAX = 400;

const unrecognized = (wanted: string, text: string, why: string): StatusError =>
  badRequest(`the object provided is unrecognized (must be of type ${wanted}): ${why} (${summaryOf(text)})`);

const SUMMARY_BYTES = 30;

/** The beginning of what was sent; what does not begin like an object may be no text at all. */
function summaryOf(text: string): string {
  const bytes = Buffer.from(text.slice(0, SUMMARY_BYTES + 1));
  if (bytes.length === 0) return '<empty>';
  const start = bytes.subarray(0, SUMMARY_BYTES);
  const shown = text.startsWith('{') ? start.toString() : start.toString('hex');
  return bytes.length > SUMMARY_BYTES ? `${shown} ...` : shown;
}

export function refuseTooDeep(value: Json): void {
  if (isTooDeep(value)) throw badRequest(`the object is nested more than ${BODY_DEPTH_MAX} levels deep`);
}

/** True when a value is nested deeper than any stored object. */
export function isTooDeep(value: Json, depth = 0): boolean {
  if (depth > BODY_DEPTH_MAX) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (isJsonArray(value)) return value.some((item) => isTooDeep(item, depth + 1));
  for (const key in value) if (isTooDeep(value[key] ?? null, depth + 1)) return true;
  return false;
}

export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Gives the document its kind, or refuses another kind than the path serves. */
export function asKind(document: JsonObject, definition: Kind): KubeObject {
  const apiVersion = textField(document, 'apiVersion', definition);
  const kind = textField(document, 'kind', definition);
  const wanted = groupVersion(definition);
  if ((kind !== '' && kind !== definition.kind) || (apiVersion !== '' && apiVersion !== wanted)) {
    throw otherKind(document, definition, { apiVersion: apiVersion || wanted, kind: kind || definition.kind });
  }
  const metadata = document['metadata'] ?? {};
  if (!isJsonObject(metadata))
    throw badRequest(
      `${definition.kind} in version "${definition.version}" cannot be handled as a ${definition.kind}: json: cannot unmarshal ${jsonTypeName(metadata)} into Go struct field ${definition.kind}.metadata of type v1.ObjectMeta`,
    );
  return { ...document, apiVersion: wanted, kind: definition.kind, metadata: { ...metadata } } as KubeObject;
}

function textField(document: JsonObject, field: 'apiVersion' | 'kind', definition: Kind): string {
  const value = document[field] ?? '';
  if (typeof value === 'string') return value;
  const why = `json: cannot unmarshal ${jsonTypeName(value)} into Go struct field .${field} of type string`;
  throw unrecognized(definition.kind, JSON.stringify(document), `${NO_KIND}${why}`);
}

interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

function otherKind(document: JsonObject, definition: Kind, named: NamedKind): StatusError {
  const { apiVersion, kind } = named;
  if (apiVersion.split('/').length > 2) {
    return unrecognized(definition.kind, JSON.stringify(document), `unexpected GroupVersion string: ${apiVersion}`);
  }
  const unfit = unfitReason(named, definition);
  if (unfit === undefined) {
    return badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${groupVersion(definition)})`,
    );
  }
  return badRequest(
    `${kind} in version ${JSON.stringify(versionIn(apiVersion))} cannot be handled as a ${definition.kind}: ${unfit}`,
  );
}

const versionIn = (apiVersion: string): string => apiVersion.split('/').at(-1) ?? '';

/** Why a document cannot become an object of this kind; `undefined` when it is of the kind, in whatever version. */
export function unfitKind(document: JsonObject, definition: Kind): string | undefined {
  const { apiVersion, kind } = document;
  const named = {
    apiVersion: typeof apiVersion === 'string' ? apiVersion : '',
    kind: typeof kind === 'string' ? kind : '',
  };
  if (named.kind === definition.kind && named.apiVersion === groupVersion(definition)) return undefined;
  return unfitReason(named, definition);
}

function unfitReason({ apiVersion, kind }: NamedKind, definition: Kind): string | undefined {
  if (!isKnownKind(apiVersion, kind)) return notRegistered(apiVersion, kind);
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  if (kind === definition.kind && group === definition.group) return undefined;
  const internal = definition.group === '' ? 'core' : (definition.group.split('.')[0] ?? '');
  return `converting (${versionIn(apiVersion)}.${kind}) to (${internal}.${definition.kind}): unknown conversion`;
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  });
}
