import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  applyMergePatch,
  applyStrategicMergePatch,
  badRequest,
  type Decoded,
  DecodeError,
  decodeJsonPatch,
  decodeTextWithSchema,
  decodeWithSchema,
  findOddNumbers,
  hasInfinite,
  isJsonObject,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  jsonPatchInSteps,
  jsonTypeName,
  type ParsedJson,
  parseJson,
  printGo,
  refuseTooManyValues,
  runSteps,
  StatusError,
  type Steps,
  type StructSchema,
  setOwn,
} from '@holdfast/machinery';
import type { Core } from '../core.ts';
import { asKind, bodyText, mediaTypeOf, noDouble, noObject, unfitKind, unsupportedMediaType } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { stepsInTurns } from '../turns/steps-in-turns.ts';
import { apply } from './apply.ts';
import { asJson, refuseOtherType, reportStrict, schemaOf } from './decode-body.ts';
import { changeable, updateObject } from './update-object.ts';
import { updateStrategyFor } from './update-strategies.ts';
import { APPLY_PATCH, readWriteOptions, type WriteOptions } from './write-options.ts';

/** A change that a client describes to the JSON of the newest state. */
export interface Patch {
  readonly apply: (current: JsonObject) => Steps<Json>;
  /** Unknown fields of the description. */
  readonly strictErrors: readonly string[];
  /** Numbers of the result that are to be read as they are written, by their paths. */
  readonly oddNumbers?: ReadonlyMap<string, string>;
  /** Set for a strategic merge, which continues without text, so that errors of its result have other words. */
  readonly strategic?: JsonObject;
  /** The text of a number in the patch that no double can hold. */
  readonly hugeNumber?: string | undefined;
}

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

export async function patch(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  if (mediaTypeOf(context.request) === APPLY_PATCH) return apply(core, context, definition);
  if (definition.custom === undefined) requirePatchType(context);
  else requireCustomPatchType(context);
  const options = readWriteOptions(context, 'PatchOptions');
  const schema = schemaOf(definition);
  // The patch is parsed only when the object exists.
  let change: Patch | undefined;
  const { object } = await updateObject(core, context, {
    definition,
    strategy: updateStrategyFor(definition, context.info.subresource),
    dryRun: options.dryRun,
    fieldManager: options.fieldManager,
    change: async (current) => {
      change ??= readPatch(context, schema);
      const patching = { current: inGoOrder(current), patch: change, schema, kind: definition };
      const applying = stepsInTurns(core.turns, context.user, change.apply(patching.current));
      const result = applying instanceof Promise ? await applying : applying;
      if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
      const document = patchedDocument(patching, result);
      if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
      return changeable(asKind(decodePatched(context, options, { ...patching, document }), definition));
    },
  });
  return objectAnswer(core, context, definition, { status: 200, object });
}

export function readPatch(context: ResourceContext, schema: StructSchema): Patch {
  const type = requirePatchType(context);
  const isUnchecked = context.request.query.get('fieldValidation') === 'Ignore';
  const refused = (why: string): StatusError => {
    if (type === MERGE_PATCH && isUnchecked) return badRequest(NO_MERGE_PATCH);
    return badRequest(type === STRATEGIC_MERGE_PATCH || isUnchecked ? why : `error decoding patch: ${why}`);
  };
  const { value, duplicates, hasOddNumbers, hugeNumber } = parsePatch(context, refused);
  if (type === JSON_PATCH) {
    const { operations, strictErrors } = decodeJsonPatch(value, isUnchecked ? 'ignored' : 'checked');
    return {
      apply: (current) => jsonPatchInSteps(current, operations),
      strictErrors: [...duplicates, ...strictErrors],
      hugeNumber,
    };
  }
  if (type === MERGE_PATCH && value === null) throw badRequest(NO_MERGE_PATCH);
  const body = value ?? {};
  if (!isJsonObject(body)) {
    throw refused(`json: cannot unmarshal ${jsonTypeName(body)} into Go value of type map[string]interface {}`);
  }
  if (type === MERGE_PATCH) {
    const merge: Patch = {
      apply: (current) => oneStep(() => applyMergePatch(current, body)),
      strictErrors: duplicates,
      hugeNumber,
    };
    return hasOddNumbers === true ? { ...merge, oddNumbers: findOddNumbers(bodyText(context.request)) } : merge;
  }
  return {
    apply: (current) => oneStep(() => applyStrategicMergePatch(current, body, schema)),
    strictErrors: duplicates,
    strategic: body,
    hugeNumber,
  };
}

function* oneStep<T>(work: () => T): Steps<T> {
  yield;
  return work();
}

export function requirePatchType({ request }: ResourceContext): string {
  const type = mediaTypeOf(request);
  if (type !== JSON_PATCH && type !== MERGE_PATCH && type !== STRATEGIC_MERGE_PATCH) throw unsupportedPatch();
  return type;
}

/** The schema of a custom resource has no merge rules. */
function requireCustomPatchType({ request }: ResourceContext): void {
  const type = mediaTypeOf(request);
  if (type === JSON_PATCH || type === MERGE_PATCH) return;
  throw unsupportedMediaType([JSON_PATCH, MERGE_PATCH, APPLY_PATCH]);
}

const NO_MERGE_PATCH = 'Invalid JSON Patch';

const unsupportedPatch = (): StatusError =>
  new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });

function parsePatch(context: ResourceContext, refused: (why: string) => StatusError): ParsedJson {
  try {
    return parseJson(bodyText(context.request));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw refused(error.message);
    throw error;
  }
}

export interface Patching {
  readonly current: JsonObject;
  readonly patch: Patch;
  readonly schema: StructSchema;
  /** The kind that the result must keep; absent: not checked. */
  readonly kind?: ResourceDefinition;
}

/** The patched document, checked field by field as if it had been sent whole. */
export const patched = (context: ResourceContext, options: WriteOptions, patching: Patching): JsonObject =>
  decodePatched(context, options, {
    ...patching,
    document: patchedDocument(patching, runSteps(patching.patch.apply(patching.current))),
  });

function patchedDocument({ patch, current }: Patching, result: Json): JsonObject {
  if (!isJsonObject(result)) throw invalidPatch(patch, result, noObject(result));
  refuseTooManyValues(result);
  return patch.strategic === undefined ? result : keepKind(result, current);
}

interface Patched extends Patching {
  readonly document: JsonObject;
}

function decodePatched(context: ResourceContext, options: WriteOptions, patching: Patched): JsonObject {
  const { patch, kind, document } = patching;
  const refusal = (why: string): StatusError => invalidPatch(patch, document, why);
  if (kind?.custom !== undefined) refuseOtherType(document, kind);
  const otherKind = kind === undefined || kind.custom !== undefined ? undefined : unfitKind(document, kind);
  if (otherKind !== undefined) throw refusal(otherKind);
  const refuseInfinite = (value: JsonObject): void => {
    if (patch.hugeNumber !== undefined && hasInfinite(value)) throw refusal(noDouble(patch.hugeNumber));
  };
  try {
    if (kind?.custom !== undefined) refuseInfinite(document);
    const { value, unknownFields } = decodeResult(document, patching);
    refuseInfinite(value);
    const problems = [...patch.strictErrors, ...unknownFields];
    reportStrict(context, options, problems, (why) => refusal(`strict decoding error: ${why}`));
    return value;
  } catch (error) {
    if (error instanceof DecodeError) throw refusal(error.message);
    throw error;
  }
}

function decodeResult(document: JsonObject, { patch, schema, current, kind }: Patching): Decoded {
  if (kind?.custom !== undefined) return kind.custom.decode(document);
  if (patch.oddNumbers !== undefined) return decodeTextWithSchema(document, schema, patch.oddNumbers);
  const words = patch.strategic === undefined ? 'decoder' : 'converter';
  return decodeWithSchema(document, schema, words, kind === undefined ? undefined : current);
}

/** A strategic merge fills an object of the kind, whatever kind it names. */
function keepKind(result: JsonObject, { apiVersion = null, kind = null }: JsonObject): JsonObject {
  return { ...result, apiVersion, kind };
}

function invalidPatch({ strategic }: Patch, result: Json, why: string): StatusError {
  const sorted = isJsonObject(result) ? sortKeys(result) : result;
  const shown = strategic === undefined ? JSON.stringify(sorted) : printGo(strategic);
  const message = `Invalid value: ${JSON.stringify(shown)}: ${why}`;
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
  for (const key in given) if (!ORDERED_METADATA.has(key)) setOwn(metadata, key, given[key] ?? null);
  for (const key of METADATA_ORDER) {
    const value = given[key];
    if (value !== undefined) setOwn(metadata, key, value);
  }
  return { ...asJson(object), metadata };
}

const ORDERED_METADATA: ReadonlySet<string> = new Set(METADATA_ORDER);
