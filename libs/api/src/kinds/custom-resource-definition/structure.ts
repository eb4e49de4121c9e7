import { type FieldError, forbidden, invalid, required } from '@holdfast/machinery';
import type { JSONSchemaProps } from '../../generated/types.ts';

type Level = keyof typeof MISSING;

const MISSING = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
} as const;

/** Every value that a schema describes has a type, so that what is unknown can be told and pruned. */
export function validateStructure(
  out: FieldError[],
  path: string,
  schema: Readonly<JSONSchemaProps>,
  level: Level = 'root',
): void {
  const type = schema.type ?? '';
  const open = schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (level === 'root' && schema.nullable === true) {
    out.push(forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  }
  if (type === '' && !open) out.push(required(`${path}.type`, MISSING[level]));
  if (level === 'root' && type !== '' && type !== 'object') {
    out.push(invalid(`${path}.type`, type, 'must be object at the root'));
  }
  validateParts(out, path, schema);
  if (schema.uniqueItems === true) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    out.push(forbidden(`${path}.uniqueItems`, detail));
  }
}

/** Schemas stand where the API has any JSON, so each is looked at before it is trusted to be one. */
const asSchema = (value: unknown): Readonly<JSONSchemaProps> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;

function validateParts(out: FieldError[], path: string, schema: Readonly<JSONSchemaProps>): void {
  const items = asSchema(schema.items);
  if (items !== undefined) validateStructure(out, `${path}.items`, items, 'item');
  for (const name of Object.keys(schema.properties ?? {}).sort()) {
    const property = asSchema(schema.properties?.[name]);
    if (property !== undefined) validateStructure(out, `${path}.properties[${name}]`, property, 'field');
  }
  const more = asSchema(schema.additionalProperties);
  if (more !== undefined) validateStructure(out, `${path}.additionalProperties`, more, 'field');
}
