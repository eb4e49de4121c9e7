import type { FieldSchema, ScalarType, Schema, StructSchema } from '@holdfast/machinery';
import {
  DEFAULTS,
  DESCRIPTIONS,
  FREE_TYPES,
  isUnmarkedList,
  MARKED_AS_LISTS,
  UNIONS,
  WITHOUT_DEFAULT,
} from './schema-exceptions.ts';
import { INT_OR_STRING, MICRO_TIME, publishedName, QUANTITY, TIME } from './schema-names.ts';
import { kindsOfStruct } from './struct-kinds.ts';
import { fieldText, kindText } from './texts.ts';
import { wellKnownSchema } from './well-known-schemas.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The reference prefix, and the differences of both OpenAPI versions. */
export interface Dialect {
  readonly referencePrefix: string;
  /** It has defaults, and wraps a reference that has siblings; version 2 ignores the siblings. */
  readonly isVersion3: boolean;
}

export const OPENAPI_3: Dialect = { referencePrefix: '#/components/schemas/', isVersion3: true };
export const OPENAPI_2: Dialect = { referencePrefix: '#/definitions/', isVersion3: false };

export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A field, with its type or with that of its items or values. */
interface Place {
  readonly struct: string;
  readonly field: string;
}

/** Collects the JSON schemas of structs and of everything they refer to. */
export class SchemaCollector {
  readonly #dialect: Dialect;
  readonly #schemas = new Map<string, JsonSchema>();
  readonly #pending: StructSchema[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Adds a struct under its published name. A kind also names itself. */
  add(struct: StructSchema, kind?: PublishedKind): void {
    this.#set(struct, kind === undefined ? kindsOfStruct(struct.name) : [kind]);
    this.#drain();
  }

  get isVersion3(): boolean {
    return this.#dialect.isVersion3;
  }

  /** A schema that is known as JSON. */
  addRaw(name: string, schema: JsonSchema): void {
    this.#schemas.set(name, schema);
  }

  /** By name, in alphabetical order. */
  all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  has(name: string): boolean {
    return this.#schemas.has(name);
  }

  reference(name: string): JsonSchema {
    if (!this.#schemas.has(name)) {
      const known = wellKnownSchema(name, this.#dialect);
      if (known !== undefined) this.#schemas.set(name, known);
    }
    return { $ref: `${this.#dialect.referencePrefix}${name}` };
  }

  #drain(): void {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      if (!this.#schemas.has(publishedName(next.name))) this.#set(next, kindsOfStruct(next.name));
    }
  }

  #set(struct: StructSchema, kinds: readonly PublishedKind[]): void {
    const extra = kinds.length === 0 ? {} : { 'x-kubernetes-group-version-kind': kinds };
    this.#schemas.set(publishedName(struct.name), { ...this.#structBody(struct), ...extra });
  }

  #structBody({ name, fields, atomic }: StructSchema): JsonSchema {
    const entries = Object.entries(fields);
    const required = entries.filter(([, field]) => field.required === true).map(([key]) => key);
    const properties = entries.map(([key, field]) => [key, this.#field(field, { struct: name, field: key })]);
    const description = kindText(name);
    return {
      ...(description === undefined ? {} : { description }),
      type: 'object',
      ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
      ...(required.length === 0 ? {} : { required }),
      ...(atomic === true ? { 'x-kubernetes-map-type': 'atomic' } : {}),
      ...UNIONS[name],
    };
  }

  #field(field: FieldSchema, place: Place): JsonSchema {
    const type = field.type();
    const description = fieldText(place.struct, place.field);
    const siblings = {
      ...(description === undefined ? {} : { description }),
      ...this.#defaultOf(field, place),
      ...MARKED_AS_LISTS[`${place.struct}.${place.field}`],
      ...DESCRIPTIONS[`${place.struct}.${place.field}`],
      ...(type.kind === 'struct' && type.atomic === false ? { 'x-kubernetes-map-type': 'granular' } : {}),
      ...(field.patchMergeKey === undefined ? {} : { 'x-kubernetes-patch-merge-key': field.patchMergeKey }),
      ...(field.patchStrategy === undefined ? {} : { 'x-kubernetes-patch-strategy': field.patchStrategy.join(',') }),
    };
    const schema = this.#type(type, place);
    return '$ref' in schema && this.#dialect.isVersion3 ? { allOf: [schema], ...siblings } : { ...schema, ...siblings };
  }

  #defaultOf(field: FieldSchema, { struct, field: name }: Place): JsonSchema {
    if (!this.#dialect.isVersion3) return {};
    const said = DEFAULTS[struct]?.[name];
    if (said !== undefined) return { default: said };
    const type = field.type();
    if (type.kind === 'struct') return field.isValue === true ? { default: {} } : {};
    return field.required === true && !WITHOUT_DEFAULT.has(`${struct}.${name}`) ? zeroOf(type) : {};
  }

  /** Items and values are never pointers. */
  #element(type: Schema, place: Place): JsonSchema {
    const schema = this.#type(type, place);
    const zero = this.#dialect.isVersion3 ? zeroOf(type) : {};
    return '$ref' in schema && 'default' in zero ? { allOf: [schema], ...zero } : { ...schema, ...zero };
  }

  #type(schema: Schema, place: Place): JsonSchema {
    switch (schema.kind) {
      case 'scalar':
        return this.#scalar(schema.scalar);
      case 'struct':
        this.#pending.push(schema);
        return this.reference(publishedName(schema.name));
      case 'map':
        return {
          type: 'object',
          additionalProperties: this.#element(schema.values(), place),
          ...(schema.atomic === undefined ? {} : { 'x-kubernetes-map-type': schema.atomic ? 'atomic' : 'granular' }),
        };
      case 'list':
        return {
          type: 'array',
          items: this.#element(schema.items(), place),
          ...(isUnmarkedList(place.struct, place.field) ? {} : { 'x-kubernetes-list-type': schema.listType }),
          ...(schema.mapKeys === undefined ? {} : { 'x-kubernetes-list-map-keys': schema.mapKeys }),
        };
      case 'any': {
        const name = FREE_TYPES[`${place.struct}.${place.field}`];
        return name === undefined ? { type: 'object' } : this.reference(name);
      }
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

const ZEROS: Readonly<Partial<Record<ScalarType, string | number | boolean>>> = {
  string: '',
  boolean: false,
  int32: 0,
  int64: 0,
};

function zeroOf(type: Schema): JsonSchema {
  if (type.kind === 'struct') return { default: {} };
  const zero = type.kind === 'scalar' ? ZEROS[type.scalar] : undefined;
  return zero === undefined ? {} : { default: zero };
}
