import type { FieldSchema, ScalarType, Schema, StructSchema } from '@holdfast/machinery';
import { INT_OR_STRING, MICRO_TIME, PATCH, publishedName, QUANTITY, TIME } from './schema-names.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Where references point to, and what the two versions of OpenAPI say differently. */
export interface Dialect {
  readonly referencePrefix: string;
  /** OpenAPI 3 wraps a reference that has siblings; version 2 ignores the siblings. */
  readonly wrapsReferences: boolean;
}

export const OPENAPI_3: Dialect = { referencePrefix: '#/components/schemas/', wrapsReferences: true };
export const OPENAPI_2: Dialect = { referencePrefix: '#/definitions/', wrapsReferences: false };

/** Collects the JSON schemas of structs and of everything they refer to. */
export class SchemaCollector {
  readonly #dialect: Dialect;
  readonly #schemas = new Map<string, JsonSchema>();
  readonly #pending: StructSchema[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Adds a struct under its published name. A kind also says which one it is. */
  add(struct: StructSchema, kind?: { readonly group: string; readonly version: string; readonly kind: string }): void {
    const extra = kind === undefined ? {} : { 'x-kubernetes-group-version-kind': [kind] };
    this.#schemas.set(publishedName(struct.name), { ...this.#structBody(struct), ...extra });
    this.#drain();
  }

  /** By name, in alphabetical order. */
  all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  reference(name: string): JsonSchema {
    const known = WELL_KNOWN[name];
    if (known !== undefined && !this.#schemas.has(name)) this.#schemas.set(name, known);
    return { $ref: `${this.#dialect.referencePrefix}${name}` };
  }

  #drain(): void {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const name = publishedName(next.name);
      if (!this.#schemas.has(name)) this.#schemas.set(name, this.#structBody(next));
    }
  }

  #structBody(struct: StructSchema): JsonSchema {
    const required = Object.keys(struct.fields).filter((name) => struct.fields[name]?.required === true);
    return {
      type: 'object',
      properties: Object.fromEntries(Object.entries(struct.fields).map(([name, field]) => [name, this.#field(field)])),
      ...(required.length === 0 ? {} : { required }),
      ...(struct.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    };
  }

  #field(field: FieldSchema): JsonSchema {
    const patch = {
      ...(field.patchMergeKey === undefined ? {} : { 'x-kubernetes-patch-merge-key': field.patchMergeKey }),
      ...(field.patchStrategy === undefined ? {} : { 'x-kubernetes-patch-strategy': field.patchStrategy.join(',') }),
    };
    const schema = this.#type(field.type());
    if (!('$ref' in schema)) return { ...schema, ...patch };
    return this.#dialect.wrapsReferences ? { allOf: [schema], ...patch } : { ...schema, ...patch };
  }

  #type(schema: Schema): JsonSchema {
    switch (schema.kind) {
      case 'scalar':
        return this.#scalar(schema.scalar);
      case 'struct':
        this.#pending.push(schema);
        return this.reference(publishedName(schema.name));
      case 'map':
        return {
          type: 'object',
          additionalProperties: this.#type(schema.values()),
          ...(schema.atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
        };
      case 'list':
        return {
          type: 'array',
          items: this.#type(schema.items()),
          'x-kubernetes-list-type': schema.listType,
          ...(schema.mapKeys === undefined ? {} : { 'x-kubernetes-list-map-keys': schema.mapKeys }),
        };
      case 'any':
        return { type: 'object' };
    }
  }

  #scalar(scalar: ScalarType): JsonSchema {
    switch (scalar) {
      case 'string':
        return { type: 'string' };
      case 'boolean':
        return { type: 'boolean' };
      case 'int32':
      case 'int64':
        return { type: 'integer', format: scalar };
      case 'number':
        return { type: 'number', format: 'double' };
      case 'bytes':
        return { type: 'string', format: 'byte' };
      case 'quantity':
        return this.reference(QUANTITY);
      case 'intOrString':
        return this.reference(INT_OR_STRING);
      case 'time':
        return this.reference(TIME);
      case 'microTime':
        return this.reference(MICRO_TIME);
    }
  }
}

const WELL_KNOWN: Readonly<Record<string, JsonSchema>> = {
  [QUANTITY]: { type: 'string' },
  [INT_OR_STRING]: { type: 'string', format: 'int-or-string' },
  [TIME]: { type: 'string', format: 'date-time' },
  [MICRO_TIME]: { type: 'string', format: 'date-time' },
  [PATCH]: { type: 'object' },
};
