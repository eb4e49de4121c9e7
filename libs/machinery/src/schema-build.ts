import type { FieldSchema, ScalarType, Schema, StructSchema } from './schema.ts';

/** Fields of the schemas that are written by hand: of the files that configure a service. */
export const scalar = (type: ScalarType): FieldSchema => ({ type: () => ({ kind: 'scalar', scalar: type }) });

export const field = (type: () => Schema): FieldSchema => ({ type });

export const listOf = (items: () => Schema): FieldSchema => ({
  type: () => ({ kind: 'list', items, listType: 'atomic' }),
});

export const mapOf = (values: () => Schema): FieldSchema => ({ type: () => ({ kind: 'map', values }) });

export const STRING = (): Schema => ({ kind: 'scalar', scalar: 'string' });

export const strings: FieldSchema = listOf(STRING);

/** Makes the structs of one group and version, as messages name them. */
export const structsOf =
  (version: string) =>
  (name: string, fields: StructSchema['fields']): StructSchema => ({
    kind: 'struct',
    name: `${version}.${name}`,
    fields,
  });
