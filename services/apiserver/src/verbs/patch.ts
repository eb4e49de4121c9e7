import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  badRequest,
  DecodeError,
  decodeJsonPatch,
  decodeWithSchema,
  isJsonObject,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  parseJson,
  StatusError,
  type StructSchema,
} from '@holdfast/machinery';
import type { Core } from '../core.ts';
import { asKind, bodyText, mediaTypeOf } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { apply } from './apply.ts';
import { asJson, reportStrict, schemaOf } from './decode-body.ts';
import { formFor } from './update-forms.ts';
import { changeable, updateObject } from './update-object.ts';
import { APPLY_PATCH, readWriteOptions, type WriteOptions } from './write-options.ts';

/** Applies the change a client describes to the JSON of the newest state. */
export type JsonChange = (current: JsonObject) => Json;

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

export async function patch(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  if (mediaTypeOf(context.request) === APPLY_PATCH) return apply(core, context, definition);
  const options = readWriteOptions(context, 'PatchOptions');
  const schema = schemaOf(definition);
  const change = readPatch(context, options, schema);
  const { object } = await updateObject(core, context, {
    definition,
    form: formFor(definition, context.info.subresource),
    dryRun: options.dryRun,
    fieldManager: options.fieldManager,
    change: (current) =>
      changeable(asKind(patched(context, options, { current: inGoOrder(current), change, schema }), definition)),
  });
  return objectAnswer(core, context, definition, { status: 200, object });
}

export function readPatch(context: ResourceContext, options: WriteOptions, schema: StructSchema): JsonChange {
  const type = mediaTypeOf(context.request);
  if (type !== JSON_PATCH && type !== MERGE_PATCH && type !== STRATEGIC_MERGE_PATCH) throw unsupportedPatch();
  const body = parsePatch(context, options);
  if (type === JSON_PATCH) {
    const { operations, strictErrors } = decodeJsonPatch(body);
    reportStrict(context, options, strictErrors, (why) => badRequest(`strict decoding error: ${why}`));
    return (current) => applyJsonPatch(current, operations);
  }
  if (!isJsonObject(body)) throw badRequest('error decoding patch: a merge patch must be an object');
  if (type === MERGE_PATCH) return (current) => applyMergePatch(current, body);
  return (current) => applyStrategicMergePatch(current, body, schema);
}

const unsupportedPatch = (): StatusError =>
  new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });

function parsePatch(context: ResourceContext, options: WriteOptions): Json {
  try {
    const { value, duplicates } = parseJson(bodyText(context.request));
    reportStrict(context, options, duplicates, (why) => badRequest(`strict decoding error: ${why}`));
    return value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(`error decoding patch: ${error.message}`, error);
    throw error;
  }
}

export interface Patching {
  readonly current: JsonObject;
  readonly change: JsonChange;
  readonly schema: StructSchema;
}

/** The patched document, checked field by field as if it had been sent whole. */
export function patched(context: ResourceContext, options: WriteOptions, patching: Patching): JsonObject {
  const result = patching.change(patching.current);
  if (!isJsonObject(result)) throw badRequest('the patch does not leave an object');
  try {
    const { value, unknownFields } = decodeWithSchema(result, patching.schema);
    reportStrict(context, options, unknownFields, (why) => invalidPatch(result, `strict decoding error: ${why}`));
    return value;
  } catch (error) {
    if (error instanceof DecodeError) throw invalidPatch(result, error.message);
    throw error;
  }
}

function invalidPatch(result: JsonObject, why: string): StatusError {
  const message = `Invalid value: ${JSON.stringify(JSON.stringify(sortKeys(result)))}: ${why}`;
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: ` "" is invalid: patch: ${message}`,
    details: { causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }] },
  });
}

/** Go prints maps in the order of their keys; metadata is quoted as it was. */
function sortKeys(object: JsonObject): JsonObject {
  const entries = Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, isJsonObject(value) && key !== 'metadata' ? sortKeys(value) : value]),
  );
}

/** Metadata as Kubernetes prints it, because messages about patches quote the document. */
const METADATA_ORDER = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
];

export function inGoOrder(object: KubeObject): JsonObject {
  const given: Readonly<Record<string, Json | undefined>> = asJson(object)['metadata'] as JsonObject;
  const metadata: Record<string, Json> = {};
  for (const key in given) if (!ORDERED_METADATA.has(key)) metadata[key] = given[key] ?? null;
  for (const key of METADATA_ORDER) {
    const value = given[key];
    if (value !== undefined) metadata[key] = value;
  }
  return { ...asJson(object), metadata };
}

const ORDERED_METADATA: ReadonlySet<string> = new Set(METADATA_ORDER);
