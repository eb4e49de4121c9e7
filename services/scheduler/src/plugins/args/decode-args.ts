import {
  DecodeError,
  decodeWithSchema,
  type FieldError,
  fieldErrorMessage,
  type Json,
  type JsonObject,
  type StructSchema,
} from '@holdfast/machinery';
import { scalar, structsOf } from '@holdfast/machinery/schema-build';
import type { RawArgs } from '../../framework/definition.ts';

/** Fields of every plugin's arguments. */
const TYPE_FIELDS = { apiVersion: scalar('string'), kind: scalar('string') };

export const struct = structsOf('config.v1');

/** Checks types and unknown fields; absent fields stay absent. */
export function checkArgs(raw: RawArgs | undefined, schema: StructSchema): JsonObject {
  if (raw === undefined) return {};
  return checkStruct(raw.args, { ...schema, fields: { ...TYPE_FIELDS, ...schema.fields } }, raw);
}

export function checkStruct(
  value: Json,
  schema: StructSchema,
  { path, errors }: { readonly path: string; readonly errors: string[] },
): JsonObject {
  try {
    const { value: decoded, unknownFields } = decodeWithSchema(value, schema);
    for (const text of unknownFields) errors.push(text.replace('unknown field "', `unknown field "${prefix(path)}`));
    return decoded;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    errors.push(path === '' ? error.message : `${path}: ${error.message}`);
    return {};
  }
}

export function report(raw: RawArgs | undefined, mistakes: readonly FieldError[]): void {
  for (const each of mistakes) {
    raw?.errors.push(fieldErrorMessage({ ...each, field: `${prefix(raw.path)}${each.field}` }));
  }
}

const prefix = (path: string): string => (path === '' ? '' : `${path}.`);

export function outside(value: number, [least, most]: readonly [number, number]): boolean {
  return value < least || value > most;
}
