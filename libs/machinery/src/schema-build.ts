import type { FieldSchema, ScalarType, Schema, StructSchema } from './schema.ts';

/** Builders for hand-written schemas, such as those of configuration files. */
export const scalar = (type: ScalarType): FieldSchema => ({ type: () => ({ kind: 'scalar', scalar: type }) });

export const field = (type: () => Schema): FieldSchema => ({ type });

export const listOf = (items: () => Schema): FieldSchema => ({
  type: () => ({ kind: 'list', items, listType: 'atomic' }),
});

export const mapOf = (values: () => Schema): FieldSchema => ({ type: () => ({ kind: 'map', values }) });

export const STRING = (): Schema => ({ kind: 'scalar', scalar: 'string' });

export const strings: FieldSchema = listOf(STRING);

/** Builds the structs of one group and version, with the names for messages. */
export const structsOf =
  (version: string) =>
  (name: string, fields: StructSchema['fields']): StructSchema => ({
    kind: 'struct',
    name: `${version}.${name}`,
    fields,
  });
