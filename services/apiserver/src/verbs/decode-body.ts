import { type KubeObject, type ResourceDefinition, schemaFor } from '@holdfast/api';
import {
  badRequest,
  DecodeError,
  decodeWithSchema,
  findStrictProblems,
  type JsonObject,
  StatusError,
  type StructSchema,
} from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import { asKind, type BodyFormat, bodyFormat, bodyText, type ParsedDocument, parseDocument } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import type { WriteOptions } from './write-options.ts';

/** The object a client sent, of the kind that the path serves, with unknown fields refused, reported or dropped. */
export function decodeBody(
  context: ResourceContext,
  definition: ResourceDefinition,
  options: WriteOptions,
): KubeObject {
  const text = bodyText(context.request);
  const format = bodyFormat(context.request);
  const parsed = parseDocument(text, format, definition.kind);
  return decodeDocument(parsed, definition, (unknownFields) => {
    const problems = strictProblems({ text, format, duplicates: parsed.duplicates, unknownFields });
    reportStrict(context, options, problems, (why) => cannotBeHandled(definition, `strict decoding error: ${why}`));
  });
}

interface Findings {
  readonly text: string;
  readonly format: BodyFormat;
  readonly duplicates: readonly string[];
  readonly unknownFields: readonly string[];
}

/** In the order of a JSON text; a YAML text names what stands twice first. */
function strictProblems({ text, format, duplicates, unknownFields }: Findings): readonly string[] {
  if (duplicates.length === 0) return unknownFields;
  if (format === 'json' && unknownFields.length > 0) return findStrictProblems(text, unknownFields);
  return [...duplicates, ...unknownFields];
}

function decodeDocument(
  parsed: ParsedDocument,
  definition: ResourceDefinition,
  report: (unknownFields: readonly string[]) => void,
): KubeObject {
  const object = asKind(parsed.value, definition);
  try {
    const { value, unknownFields } = decodeWithSchema(asJson(object), schemaOf(definition));
    report(unknownFields);
    return asKind(value, definition);
  } catch (error) {
    if (error instanceof DecodeError) throw cannotBeHandled(definition, error.message);
    throw error;
  }
}

/** The form that is stored, of a document that the server itself put together. */
export function decodeStoredForm(document: JsonObject, definition: ResourceDefinition): JsonObject {
  try {
    return decodeWithSchema(document, schemaOf(definition)).value;
  } catch (error) {
    if (error instanceof DecodeError) throw cannotBeHandled(definition, error.message);
    throw error;
  }
}

/** What `fieldValidation` does with fields that nobody knows or that stand twice. */
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
  const schema = schemaFor(definition.group, definition.version, definition.kind);
  invariant(schema !== undefined, 'every served kind has a field table', { kind: definition.kind });
  return schema;
}

const cannotBeHandled = (definition: ResourceDefinition, why: string): StatusError =>
  badRequest(`${definition.kind} in version "${definition.version}" cannot be handled as a ${definition.kind}: ${why}`);

/** An object that came out of JSON is JSON. */
export const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;
