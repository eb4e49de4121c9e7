import { parseExactJson } from '../exact-json.ts';
import { differenceOf, EMPTY_FIELD_SET, type FieldSet } from '../fieldpath/field-set.ts';
import { isJsonObject, type Json, type JsonObject, type MutableJsonObject, ownValue, sortedJson } from '../json.ts';
import { MAX_ANNOTATIONS_BYTES } from '../limits.ts';
import type { StructSchema } from '../schema.ts';
import { compareTyped } from '../typed/compare.ts';
import { toFieldSet } from '../typed/to-field-set.ts';

/**
 * Only this manager's server-side apply takes over the fields that its client-side apply recorded in the annotation.
 */
export const KUBECTL_MANAGER = 'kubectl';
/** The annotation in which `kubectl apply` stores its last configuration. */
export const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = ownValue(object, 'metadata');
  const annotations = isJsonObject(metadata) ? ownValue(metadata, 'annotations') : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/** Returns the fields of the last client-side apply whose value in the live object is unchanged. */
export function allowedByLastApplied(live: JsonObject, schema: StructSchema): FieldSet {
  const last = parsed(ownValue(annotationsOf(live), LAST_APPLIED_ANNOTATION));
  if (last === undefined) return EMPTY_FIELD_SET;
  const { added, modified, removed } = compareTyped(last, live, schema);
  return [modified, added, removed].reduce(differenceOf, toFieldSet(last, schema));
}

function parsed(text: Json | undefined): JsonObject | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const value = parseExactJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    // Anyone may write the annotation. Text that is not JSON allows nothing.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns the same object when it has no such annotation. */
export function syncLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if (!Object.hasOwn(annotations, LAST_APPLIED_ANNOTATION)) return object;
  const { [LAST_APPLIED_ANNOTATION]: previous, ...others } = annotations;
  const text = `${sortedJson(withoutLastApplied(config))}\n`;
  if (text === previous) return object;
  const bytes = Object.entries({ ...others, [LAST_APPLIED_ANNOTATION]: text }).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  const kept: MutableJsonObject =
    bytes > MAX_ANNOTATIONS_BYTES ? others : { ...others, [LAST_APPLIED_ANNOTATION]: text };
  return withAnnotations(object, kept);
}

function withoutLastApplied(config: JsonObject): JsonObject {
  const { [LAST_APPLIED_ANNOTATION]: _, ...others } = annotationsOf(config);
  return withAnnotations(config, others);
}

function withAnnotations(object: JsonObject, annotations: JsonObject): JsonObject {
  const metadata = ownValue(object, 'metadata');
  return { ...object, metadata: { ...(isJsonObject(metadata) ? metadata : {}), annotations } };
}
