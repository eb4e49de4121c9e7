import { type KubeObject, validateAnnotations, validateLabels } from '@holdfast/api';
import {
  aggregate,
  copyJson,
  type FieldError,
  hasInfinite,
  isJsonArray,
  isJsonObject,
  isNumeric,
  isWhole,
  type Json,
  type JsonObject,
  ownValue,
  parseExactJson,
} from '@holdfast/machinery';
import { isTooDeep } from '../http/body.ts';
import { BODY_DEPTH_MAX } from '../limits.ts';

/** Returns the objects in a conversion webhook's response; a string describes its error. */
export function convertedObjects(text: string, uid: string): readonly Json[] | string {
  let review: unknown;
  try {
    review = parseExactJson(text);
  } catch {
    return 'the answer is not JSON';
  }
  if (
    !isJsonObject(review) ||
    review['kind'] !== 'ConversionReview' ||
    review['apiVersion'] !== 'apiextensions.k8s.io/v1'
  ) {
    return 'expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview';
  }
  const { response } = review;
  if (!isJsonObject(response)) return 'no response provided';
  if (response['uid'] !== uid)
    return `expected response.uid=${JSON.stringify(uid)}, got ${shown(response['uid'] ?? '', JSON.stringify)}`;
  const result = isJsonObject(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    const { message, status } = result;
    if (typeof message === 'string' && message !== '') return message;
    return `response.result.status was '${typeof status === 'string' ? status : ''}', not 'Success'`;
  }
  const objects = response['convertedObjects'];
  return isJsonArray(objects) ? objects : [];
}

/** The error in one object of a response, in Kubernetes' words. */
export interface ConversionFault {
  readonly what: 'invalid converted object' | 'invalid metadata in object';
  readonly why: string;
}

export const isFault = (result: KubeObject | ConversionFault): result is ConversionFault => 'why' in result;

/** A webhook may change anything but what an object is called and who keeps it: of metadata only labels and annotations. */
export function checkedObject(converted: Json, original: KubeObject, apiVersion: string): KubeObject | ConversionFault {
  const invalid = (why: string): ConversionFault => ({ what: 'invalid converted object', why });
  if (!isJsonObject(converted)) return invalid('it is not an object');
  if (isTooDeep(converted)) return invalid(`it is nested more than ${BODY_DEPTH_MAX} levels deep`);
  if (hasInfinite(converted)) return invalid('it has a number that no float64 can hold');
  if (converted['apiVersion'] !== apiVersion) {
    return invalid(`invalid groupVersion (expected ${apiVersion}, received ${textOf(converted['apiVersion'])})`);
  }
  if (converted['kind'] !== original.kind) {
    return invalid(`invalid kind (expected ${original.kind}, received ${textOf(converted['kind'])})`);
  }
  const metadata = isJsonObject(converted['metadata']) ? converted['metadata'] : {};
  for (const [key, name] of IDENTITY) {
    const [before, after] = [original.metadata[key] ?? '', metadata[key] ?? ''];
    if (before !== after) return invalid(`must have the same ${name}: ${before} != ${textOf(after)}`);
  }
  for (const field of ['labels', 'annotations'] as const) {
    const why = faultOfField(field, metadata[field] ?? null, original.metadata[field] ?? {});
    if (why !== undefined) return { what: 'invalid metadata in object', why };
  }
  return { ...copyJson(converted), metadata: mergedMetadata(metadata, original) } as unknown as KubeObject;
}

const IDENTITY = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

/** An unchanged value may stay invalid. */
function faultOfField(
  field: 'labels' | 'annotations',
  value: Json,
  before: Readonly<Record<string, string>>,
): string | undefined {
  if (value === null) return undefined;
  if (!isJsonObject(value)) return `invalid metadata.${field} of type ${goType(value)} in converted object`;
  const entries = Object.entries(value);
  for (const [key, each] of entries) {
    if (typeof each !== 'string')
      return `metadata.${field}[${key}] must be a string, but is ${goType(each)} in converted object`;
  }
  const isSame =
    entries.length === Object.keys(before).length && entries.every(([key, each]) => ownValue(before, key) === each);
  if (isSame) return undefined;
  const errors: FieldError[] = [];
  const texts = value as Readonly<Record<string, string>>;
  if (field === 'labels') validateLabels(errors, 'metadata.labels', texts);
  else validateAnnotations(errors, 'metadata.annotation', texts);
  return errors.length === 0 ? undefined : aggregate(errors.slice(0, METADATA_ERRORS_TOLD));
}

const METADATA_ERRORS_TOLD = 10;

/** Go's name for the type of a decoded JSON value. */
function goType(value: Json): string {
  if (value === null) return '<nil>';
  if (isJsonArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (isNumeric(value)) return isWhole(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}

function mergedMetadata(converted: JsonObject, { metadata }: KubeObject): KubeObject['metadata'] {
  const { labels: _labels, annotations: _annotations, ...own } = copyJson(metadata);
  const given = ['labels', 'annotations'].filter((key) => isJsonObject(converted[key]));
  return { ...own, ...Object.fromEntries(given.map((key) => [key, copyJson(converted[key] ?? null)])) };
}

const textOf = (value: Json | undefined): string =>
  shown(value ?? null, (each) => (typeof each === 'string' ? each : JSON.stringify(each)));

/** An answer may be nested deeper than it can be printed. */
const shown = (value: Json, print: (value: Json) => string): string =>
  isTooDeep(value) ? '(nested too deeply)' : print(value);
