import {
  DecodeError,
  decodeWithSchema,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  type MutableJsonObject,
  type StructSchema,
  setOwn,
} from '@holdfast/machinery';
import type { SchemaNode } from './schema-node.ts';

/** Maximum number of reported fields: an invalid request must not produce a huge response. */
const UNKNOWN_FIELDS_MAX = 100;

export interface PruneOptions {
  readonly objectMeta: StructSchema;
  /** `checked` refuses wrong types in the metadata of a request; `mended` drops them from a stored object. */
  readonly metadata: 'checked' | 'mended';
}

export interface PrunedObject {
  /** The input itself when nothing was dropped. */
  readonly value: JsonObject;
  /** `unknown field "spec.foo"`, by path. */
  readonly unknownFields: readonly string[];
}

/**
 * Drops fields that the schema does not declare, nulls where they are not allowed, and unknown metadata. Throws
 * DecodeError.
 */
export function prune(value: JsonObject, schema: SchemaNode, options: PruneOptions): PrunedObject {
  const pruner = new Pruner(options);
  const pruned = pruner.resource(value, schema);
  const paths = pruner.unknown.sort((a, b) => (a < b ? -1 : Number(a > b)));
  return { value: pruned, unknownFields: paths.map((path) => `unknown field "${path}"`) };
}

const RESOURCE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

class Pruner {
  readonly unknown: string[] = [];
  readonly #options: PruneOptions;
  readonly #path: (string | number)[] = [];

  constructor(options: PruneOptions) {
    this.#options = options;
  }

  resource(value: JsonObject, schema: SchemaNode): JsonObject {
    const pruned = this.#object(value, schema, true);
    const { metadata } = pruned;
    if (!isJsonObject(metadata)) return pruned;
    const coerced = this.#metadata(metadata);
    return coerced === metadata ? pruned : { ...pruned, metadata: coerced };
  }

  #value(value: Json, schema: SchemaNode): Json {
    if (isJsonArray(value)) return schema.items === undefined ? value : this.#items(value, schema.items);
    if (!isJsonObject(value)) return value;
    return schema.embedded ? this.resource(value, schema) : this.#object(value, schema, false);
  }

  #items(items: readonly Json[], schema: SchemaNode): readonly Json[] {
    let copy: Json[] | undefined;
    for (const [index, item] of items.entries()) {
      if (typeof item !== 'object' || item === null) continue;
      this.#path.push(index);
      const pruned = this.#value(item, schema);
      this.#path.pop();
      if (pruned === item) continue;
      copy ??= [...items];
      copy[index] = pruned;
    }
    return copy ?? items;
  }

  #object(object: JsonObject, schema: SchemaNode, isResource: boolean): JsonObject {
    let copy: MutableJsonObject | undefined;
    for (const key in object) {
      if (isResource && RESOURCE_FIELDS.has(key)) continue;
      const child = object[key] ?? null;
      const below = schema.properties.get(key) ?? schema.additional;
      if (below === undefined) {
        if (schema.preservesUnknown || schema.isOpenMap) continue;
        this.#report(key);
        copy ??= { ...object };
        delete copy[key];
        continue;
      }
      if (child === null) {
        if (below.nullable || below.default !== undefined) continue;
        copy ??= { ...object };
        delete copy[key];
        continue;
      }
      if (typeof child !== 'object') continue;
      this.#path.push(key);
      const pruned = this.#value(child, below);
      this.#path.pop();
      if (pruned === child) continue;
      copy ??= { ...object };
      setOwn(copy, key, pruned);
    }
    return copy ?? object;
  }

  #metadata(metadata: JsonObject): JsonObject {
    const { objectMeta, metadata: how } = this.#options;
    try {
      const { value, unknownFields } = decodeWithSchema(metadata, objectMeta);
      for (const text of unknownFields) this.#report(`metadata.${/"(.*)"/.exec(text)?.[1] ?? ''}`);
      return value;
    } catch (error) {
      if (!(error instanceof DecodeError) || how === 'checked') throw error;
      return mended(metadata, objectMeta);
    }
  }

  #report(key: string): void {
    if (this.unknown.length >= UNKNOWN_FIELDS_MAX) return;
    let path = '';
    for (const step of [...this.#path, key]) {
      if (typeof step === 'number') path += `[${step}]`;
      else path += path === '' ? step : `.${step}`;
    }
    this.unknown.push(path);
  }
}

/** Returns the readable fields of stored metadata. */
function mended(metadata: JsonObject, objectMeta: StructSchema): JsonObject {
  const fit: MutableJsonObject = {};
  for (const [key, value] of Object.entries(metadata)) {
    try {
      Object.assign(fit, decodeWithSchema({ [key]: value }, objectMeta).value);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return fit;
}
