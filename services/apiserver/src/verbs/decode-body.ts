import { type CustomKind, type KubeObject, type ResourceDefinition, schemaFor } from '@holdfast/api';
import {
  badRequest,
  copyJson,
  type Decoded as DecodedValue,
  DecodeError,
  decodeTextWithSchema,
  decodeWithSchema,
  findOddNumbers,
  findStrictProblems,
  hasInfinite,
  invalid,
  invalidObject,
  isJsonObject,
  type JsonObject,
  StatusError,
  type StructSchema,
} from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import { asKind, type BodyFormat, bodyFormat, bodyText, noDouble, parseDocument } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { groupVersion } from '../objects/object-keys.ts';
import {
  isMarked,
  isPod,
  knownTemplate,
  type PodTemplate,
  rememberTemplate,
  type SplitBody,
  splitBody,
} from './pod-templates.ts';
import type { WriteOptions } from './write-options.ts';

/** The object a client sent, of the kind that the path serves, with unknown fields refused, reported or dropped. */
export function decodeBody(
  context: ResourceContext,
  definition: ResourceDefinition,
  options: WriteOptions,
): KubeObject {
  return decodeText(context, definition, options, bodyText(context.request)).object;
}

interface Decoded {
  readonly object: KubeObject;
  /** No unknown and no duplicate fields. */
  readonly isClean: boolean;
}

function decodeText(
  context: ResourceContext,
  definition: ResourceDefinition,
  ...[options, text]: readonly [WriteOptions, string]
): Decoded {
  const format = bodyFormat(context.request);
  const parsed = parseDocument(text, format, definition.kind);
  let isClean = true;
  if (definition.custom !== undefined && parsed.hugeNumber !== undefined) {
    throw cannotBeHandled(definition, noDouble(parsed.hugeNumber));
  }
  // Custom kinds keep their numbers as JSON has them.
  const asksNumbers = parsed.hasOddNumbers === true && definition.custom === undefined;
  const oddNumbers = asksNumbers ? findOddNumbers(text) : undefined;
  const object = decodeDocument({ value: parsed.value, oddNumbers }, definition, (unknownFields) => {
    const problems = strictProblems({ text, format, duplicates: parsed.duplicates, unknownFields });
    isClean = problems.length === 0;
    reportStrict(context, options, problems, (why) => cannotBeHandled(definition, `strict decoding error: ${why}`));
  });
  const { hugeNumber } = parsed;
  if (hugeNumber !== undefined && hasInfinite(asJson(object))) throw cannotBeHandled(definition, noDouble(hugeNumber));
  return { object, isClean };
}

/** A new object, and what is known of others that were made like it. */
export interface NewBody {
  readonly object: KubeObject;
  readonly template?: PodTemplate | undefined;
}

/** As `decodeBody`; for a pod with a known spec it decodes only the rest. */
export function decodeNewBody(
  context: ResourceContext,
  definition: ResourceDefinition,
  options: WriteOptions,
): NewBody {
  const text = bodyText(context.request);
  const split = isPod(definition) && bodyFormat(context.request) === 'json' ? splitBody(text) : undefined;
  const template = split === undefined ? undefined : knownTemplate(split.spec);
  const known = split === undefined || template === undefined ? undefined : decodeRest(definition, split, template);
  if (known !== undefined) return { object: known, template };
  const { object, isClean } = decodeText(context, definition, options, text);
  if (split !== undefined && isClean && template === undefined) rememberTemplate(split, object);
  return { object };
}

/** Returns `undefined` on an error: then the whole text is decoded to report it. */
function decodeRest(definition: ResourceDefinition, split: SplitBody, template: PodTemplate): KubeObject | undefined {
  try {
    const { value, duplicates, hasOddNumbers } = parseDocument(split.rest, 'json', definition.kind);
    if (duplicates.length > 0 || hasOddNumbers === true || !isMarked(value)) return undefined;
    const { spec: _mark, ...rest } = value;
    const decoded = decodeWithSchema(asJson(asKind(rest, definition)), schemaOf(definition));
    if (decoded.unknownFields.length > 0) return undefined;
    return asKind({ ...decoded.value, spec: copyJson(template.spec) }, definition);
  } catch (error) {
    if (error instanceof DecodeError || error instanceof StatusError) return undefined;
    throw error;
  }
}

interface Findings {
  readonly text: string;
  readonly format: BodyFormat;
  readonly duplicates: readonly string[];
  readonly unknownFields: readonly string[];
}

/** In the order of a JSON text; for YAML, duplicates come first. */
function strictProblems({ text, format, duplicates, unknownFields }: Findings): readonly string[] {
  if (duplicates.length === 0) return unknownFields;
  if (format === 'json' && unknownFields.length > 0) return findStrictProblems(text, unknownFields);
  return [...duplicates, ...unknownFields];
}

interface Document {
  readonly value: JsonObject;
  /** Numbers that are not written as integers, or are long ones, by their paths. */
  readonly oddNumbers: ReadonlyMap<string, string> | undefined;
}

function decodeDocument(
  document: Document,
  definition: ResourceDefinition,
  report: (unknownFields: readonly string[]) => void,
): KubeObject {
  if (definition.custom !== undefined)
    return decodeCustomDocument(document.value, definition, definition.custom, report);
  const object = asKind(document.value, definition);
  try {
    const { value, unknownFields } = decodeFields(asJson(object), definition, document.oddNumbers);
    report(unknownFields);
    return asKind(value, definition);
  } catch (error) {
    if (error instanceof DecodeError) throw cannotBeHandled(definition, error.message);
    throw error;
  }
}

const decodeFields = (
  value: JsonObject,
  definition: ResourceDefinition,
  oddNumbers: Document['oddNumbers'],
): DecodedValue =>
  oddNumbers === undefined
    ? decodeWithSchema(value, schemaOf(definition))
    : decodeTextWithSchema(value, schemaOf(definition), oddNumbers);

/** For kinds with a schema known only at run time: validation reports values of wrong types. */
function decodeCustomDocument(
  value: JsonObject,
  definition: ResourceDefinition,
  ...[custom, report]: readonly [CustomKind, (unknownFields: readonly string[]) => void]
): KubeObject {
  checkCustomType(value, definition, report);
  try {
    const decoded = custom.decode(asJson(asKind(value, definition)));
    report(decoded.unknownFields);
    return asKind(decoded.value, definition);
  } catch (error) {
    if (error instanceof DecodeError) throw cannotBeHandled(definition, error.message);
    throw error;
  }
}

/** An unknown version is refused; another kind is an ordinary error of the object. */
function checkCustomType(
  document: JsonObject,
  definition: ResourceDefinition,
  report: (unknownFields: readonly string[]) => void,
): void {
  const { apiVersion = '', kind = '' } = document;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return;
  if (kind === '') throw missingKind(document, definition);
  const wanted = groupVersion(definition);
  if (apiVersion !== wanted) {
    if (kind === definition.kind)
      report(
        Object.keys(document)
          .filter((key) => !TYPE_FIELDS.has(key))
          .map(unknownField),
      );
    throw badRequest(`the API version in the data (${apiVersion}) does not match the expected API version (${wanted})`);
  }
  refuseOtherType(document, definition);
}

const TYPE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
const unknownField = (key: string): string => `unknown field "${key}"`;

/** The error names the object by its own type. */
export function refuseOtherType(document: JsonObject, definition: ResourceDefinition): void {
  const { apiVersion = '', kind = '', metadata } = document;
  const wanted = groupVersion(definition);
  const errors = [
    ...(kind === definition.kind ? [] : [invalid('kind', kind, `must be ${definition.kind}`)]),
    ...(apiVersion === wanted ? [] : [invalid('apiVersion', apiVersion, `must be ${wanted}`)]),
  ];
  if (errors.length === 0) return;
  const name = isJsonObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  throw invalidObject({ group: definition.group, kind: typeof kind === 'string' ? kind : '', name }, errors);
}

function missingKind(document: JsonObject, { kind }: ResourceDefinition): StatusError {
  const text = JSON.stringify(document);
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)} ...` : text;
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): Object 'Kind' is missing in '${text}' (${shown})`,
  );
}

const SHOWN_CHARS = 30;

/** The form that is stored, of a document that the server itself put together. */
export function decodeStored(document: JsonObject, definition: ResourceDefinition): JsonObject {
  try {
    if (definition.custom !== undefined) return definition.custom.decode(document).value;
    return decodeWithSchema(document, schemaOf(definition)).value;
  } catch (error) {
    if (error instanceof DecodeError) throw cannotBeHandled(definition, error.message);
    throw error;
  }
}

/** Handles unknown and duplicate fields by `fieldValidation`. */
export function reportStrict(
  context: ResourceContext,
  options: WriteOptions,
  problems: readonly string[],
  refusal: (why: string) => StatusError,
): void {
  if (problems.length === 0 || options.fieldValidation === 'Ignore') return;
  if (options.fieldValidation === 'Strict') throw refusal(problems.join(', '));
  for (const problem of problems) context.warn(problem);
}

export function schemaOf(definition: ResourceDefinition): StructSchema {
  const known = schemas.get(definition);
  if (known !== undefined) return known;
  const schema = definition.custom?.schema() ?? schemaFor(definition.group, definition.version, definition.kind);
  invariant(schema !== undefined, 'every served kind has a field table', { kind: definition.kind });
  schemas.set(definition, schema);
  return schema;
}

const schemas = new WeakMap<ResourceDefinition, StructSchema>();

const cannotBeHandled = (definition: ResourceDefinition, why: string): StatusError =>
  badRequest(`${definition.kind} in version "${definition.version}" cannot be handled as a ${definition.kind}: ${why}`);

/** An object that came out of JSON is JSON. */
export const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;
