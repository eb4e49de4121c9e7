import {
  type FieldError,
  invalid,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  required,
} from '@holdfast/machinery';
import type { ObjectMeta } from '../generated/types.ts';
import { dns1035LabelErrors } from '../validation/formats.ts';
import { validateObjectMeta } from '../validation/object-meta.ts';
import { pathSegmentErrors } from '../validation/rbac.ts';
import type { SchemaNode } from './schema-node.ts';

/** Returns the errors of embedded objects: each needs a version, a kind and valid metadata. */
export function embeddedErrors(value: Json, schema: SchemaNode): readonly FieldError[] {
  const out: FieldError[] = [];
  visit(out, value, schema, '');
  return out;
}

function visit(out: FieldError[], value: Json, schema: SchemaNode, path: string): void {
  if (!schema.has.embedded) return;
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const [i, item] of value.entries()) visit(out, item, items, `${path}[${i}]`);
    return;
  }
  if (!isJsonObject(value)) return;
  if (schema.embedded) checkResource(out, value, path);
  for (const key of Object.keys(value)) {
    const below = schema.properties.get(key) ?? schema.additional;
    if (below !== undefined) visit(out, value[key] ?? null, below, path === '' ? key : `${path}.${key}`);
  }
}

function checkResource(out: FieldError[], value: JsonObject, path: string): void {
  const text = (key: 'apiVersion' | 'kind', rule: (text: string) => string | undefined): void => {
    const found = value[key];
    const at = `${path}.${key}`;
    if (found === undefined) out.push(required(at, 'must not be empty'));
    else if (typeof found !== 'string') out.push(invalid(at, found, 'must be a string'));
    else if (found === '') out.push(invalid(at, found, 'must not be empty'));
    else {
      const problem = rule(found);
      if (problem !== undefined) out.push(invalid(at, found, problem));
    }
  };
  text('apiVersion', (found) => (found.split('/').length > 2 ? `unexpected GroupVersion string: ${found}` : undefined));
  text('kind', (found) => {
    const errors = dns1035LabelErrors(found.toLowerCase());
    return errors.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${errors.join(',')}`;
  });
  const { metadata } = value;
  if (metadata !== undefined) checkMetadata(out, metadata, `${path}.metadata`);
}

function checkMetadata(out: FieldError[], metadata: Json, path: string): void {
  if (!isJsonObject(metadata)) {
    out.push(invalid(path, metadata, 'must be an object'));
    return;
  }
  const meta = metadata as unknown as ObjectMeta;
  const named = meta.name === undefined || meta.name === '' ? { ...meta, name: 'fakename' } : meta;
  const namespaced = (meta.namespace ?? '') !== '';
  validateObjectMeta(out, named, { namespaced, name: pathSegmentErrors, path });
}
