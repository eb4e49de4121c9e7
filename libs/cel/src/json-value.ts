import { equals } from './equality.ts';
import { parseDuration, parseTimestamp } from './library/time-text.ts';
import { STEPS_PER_MERGED_ITEM } from './limits.ts';
import { type CelType, DYN, type ListType, type MapType, type ObjectType } from './types.ts';
import {
  ArrayList,
  type CelValue,
  EvaluationError,
  isMap,
  itemsOf,
  type ListMerge,
  type ListValue,
  type MapValue,
} from './values.ts';

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/** Converts a JSON value to a value of a declared type. Fields and elements are converted on first read. */
export function fromJson(json: Json, type: CelType): CelValue {
  if (json === null || json === undefined) return null;
  switch (type.kind) {
    case 'int':
      return typeof json === 'number' ? wholeNumber(json) : untyped(json);
    case 'double':
      return typeof json === 'number' || typeof json === 'bigint' ? Number(json) : untyped(json);
    case 'timestamp':
    case 'duration':
    case 'bytes':
      return typeof json === 'string' ? fromText(json, type.kind) : untyped(json);
    case 'list':
      return Array.isArray(json) ? new JsonList(json, type) : untyped(json);
    case 'map':
      return isObject(json) ? new JsonMap(json, type) : untyped(json);
    case 'object':
      return isObject(json) ? new JsonObjectValue(json, type) : untyped(json);
    default:
      return untyped(json);
  }
}

function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

const UNTYPED_LIST: ListType = { kind: 'list', element: DYN };
const UNTYPED_MAP: MapType = { kind: 'map', key: { kind: 'string' }, value: DYN };

function untyped(json: Json): CelValue {
  switch (typeof json) {
    case 'number':
      return Number.isInteger(json) ? BigInt(json) : json;
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    default:
      break;
  }
  if (Array.isArray(json)) return new JsonList(json, UNTYPED_LIST);
  return isObject(json) ? new JsonMap(json, UNTYPED_MAP) : null;
}

function wholeNumber(json: number): CelValue {
  if (!Number.isInteger(json)) throw new EvaluationError(`type conversion error: ${json} is not an integer`);
  return BigInt(json);
}

function fromText(text: string, kind: 'timestamp' | 'duration' | 'bytes'): CelValue {
  if (kind === 'bytes') return Uint8Array.from(Buffer.from(text, 'base64'));
  if (kind === 'duration') return parseDuration(text) ?? conversionFailed(text, kind);
  return parseTimestamp(text) ?? parseTimestamp(`${text}T00:00:00Z`) ?? conversionFailed(text, kind);
}

function conversionFailed(text: string, kind: string): never {
  throw new EvaluationError(`Invalid ${kind} ${JSON.stringify(text.slice(0, 100))}`);
}

class JsonList implements ListValue {
  readonly celKind = 'list';
  readonly merge?: ListMerge;
  readonly #items: readonly Json[];
  readonly #element: CelType;

  constructor(items: readonly Json[], type: ListType) {
    this.#items = items;
    this.#element = type.element;
    if (type.listType === 'set') this.merge = SET_MERGE;
    if (type.listType === 'map') this.merge = keyedMerge(type.mapKeys ?? []);
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): CelValue {
    return fromJson(this.#items[index], this.#element);
  }
}

class JsonMap implements MapValue {
  readonly celKind = 'map';
  readonly #object: JsonObject;
  readonly #value: CelType;
  #keys: readonly string[] | undefined;

  constructor(object: JsonObject, type: MapType) {
    this.#object = object;
    this.#value = type.value;
  }

  get size(): number {
    return this.keys().length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#object, key)) return undefined;
    return fromJson(this.#object[key], this.#value);
  }

  keys(): readonly string[] {
    this.#keys ??= Object.keys(this.#object);
    return this.#keys;
  }
}

/** An object with declared fields. Only these can be read, by their escaped names. */
class JsonObjectValue implements MapValue {
  readonly celKind = 'map';
  readonly isObject = true;
  readonly typeName: string;
  readonly #object: JsonObject;
  readonly #fields: ObjectType['fields'];

  constructor(object: JsonObject, type: ObjectType) {
    this.#object = object;
    this.#fields = type.fields;
    this.typeName = type.name;
  }

  get size(): number {
    let size = 0;
    for (const { property } of this.#fields.values()) if (Object.hasOwn(this.#object, property)) size += 1;
    return size;
  }

  get(key: CelValue): CelValue | undefined {
    const field = typeof key === 'string' ? this.#fields.get(key) : undefined;
    if (field === undefined || !Object.hasOwn(this.#object, field.property)) return undefined;
    return fromJson(this.#object[field.property], field.type);
  }

  *keys(): Iterable<CelValue> {
    for (const [name, { property }] of this.#fields) if (Object.hasOwn(this.#object, property)) yield name;
  }
}

function listOfAll(left: ListValue, added: readonly CelValue[], merge: ListMerge): ListValue {
  return Object.assign(new ArrayList([...itemsOf(left), ...added]), { merge });
}

/** A set has no order, and `+` adds the missing elements. */
const SET_MERGE: ListMerge = {
  equals: (left, right, meter) => {
    if (left.size !== right.size) return false;
    meter.work((left.size + right.size) * STEPS_PER_MERGED_ITEM);
    const others = keySet(right, []);
    return keysOf(left, []).every((key) => others.has(key));
  },
  add: (left, right, meter) => {
    meter.listSize(left.size + right.size);
    meter.work((left.size + right.size) * STEPS_PER_MERGED_ITEM);
    const known = keySet(left, []);
    const added = [...itemsOf(right)].filter((item) => !known.has(keyOf(item, [])));
    return listOfAll(left, added, SET_MERGE);
  },
};

/** Keys identify elements; `+` replaces elements that both lists contain. */
function keyedMerge(mapKeys: readonly string[]): ListMerge {
  const merge: ListMerge = {
    equals: (left, right, meter) => {
      if (left.size !== right.size) return false;
      meter.work((left.size + right.size) * STEPS_PER_MERGED_ITEM);
      const others = byKey(right, mapKeys);
      return [...itemsOf(left)].every((item) => {
        const other = others.get(keyOf(item, mapKeys));
        return other !== undefined && equals(item, other, meter);
      });
    },
    add: (left, right, meter) => {
      meter.listSize(left.size + right.size);
      meter.work((left.size + right.size) * STEPS_PER_MERGED_ITEM);
      const replacing = byKey(right, mapKeys);
      const known = keySet(left, mapKeys);
      const kept = [...itemsOf(left)].map((item) => replacing.get(keyOf(item, mapKeys)) ?? item);
      const added = [...itemsOf(right)].filter((item) => !known.has(keyOf(item, mapKeys)));
      return Object.assign(new ArrayList([...kept, ...added]), { merge });
    },
  };
  return merge;
}

function byKey(list: ListValue, mapKeys: readonly string[]): ReadonlyMap<string, CelValue> {
  return new Map([...itemsOf(list)].map((item) => [keyOf(item, mapKeys), item]));
}

function keysOf(list: ListValue, mapKeys: readonly string[]): readonly string[] {
  return [...itemsOf(list)].map((item) => keyOf(item, mapKeys));
}

function keySet(list: ListValue, mapKeys: readonly string[]): ReadonlySet<string> {
  return new Set(keysOf(list, mapKeys));
}

/** Returns equal strings for equal elements. Elements of sets and keys of maps are scalars. */
function keyOf(item: CelValue, mapKeys: readonly string[]): string {
  if (mapKeys.length > 0 && isMap(item)) return mapKeys.map((key) => keyOf(item.get(key) ?? null, [])).join('\u0000');
  return `${typeof item}:${typeof item === 'object' ? JSON.stringify(item) : String(item)}`;
}
