import type { Meter } from './meter.ts';

/**
 * Runtime values: null, boolean, bigint (int), Uint, number (double), string, Uint8Array (bytes), Timestamp, Duration,
 * lists, maps, optional values, types, and the objects of the libraries.
 */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | ListValue
  | MapValue
  | OptionalValue
  | TypeValue
  | OpaqueValue;

/** A failed evaluation. `&&` and `||` may hide it, but they never hide an exhausted budget. */
export class EvaluationError extends Error {
  override readonly name: string = 'EvaluationError';
}

export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
}

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export const NANOS_PER_SECOND = 1_000_000_000n;

/** Nanoseconds since 1970 in UTC. */
export class Timestamp {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A list. Elements may be created on first read. */
export interface ListValue {
  readonly celKind: 'list';
  readonly size: number;
  at(index: number): CelValue;
  /** Set for lists without order, whose `+` merges. */
  readonly merge?: ListMerge;
}

export interface ListMerge {
  equals(left: ListValue, right: ListValue, meter: Meter): boolean;
  add(left: ListValue, right: ListValue, meter: Meter): ListValue;
}

export interface MapValue {
  readonly celKind: 'map';
  readonly size: number;
  /** Returns `undefined` when the key is absent. */
  get(key: CelValue): CelValue | undefined;
  keys(): Iterable<CelValue>;
  /** True for a message or a JSON object with declared fields. */
  readonly isObject?: boolean;
  readonly typeName?: string;
}

export class OptionalValue {
  static readonly none = new OptionalValue(undefined);
  readonly value: CelValue | undefined;
  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export class TypeValue {
  readonly typeName: string;
  constructor(name: string) {
    this.typeName = name;
  }
}

/** A value with a meaning only to its library: url, ip, cidr, quantity, authorizer. */
export abstract class OpaqueValue {
  abstract readonly opaqueName: string;
  equals(other: OpaqueValue): boolean {
    return this === other;
  }
  /** The size for the cost of a call. */
  get size(): number {
    return 1;
  }
}

export class ArrayList implements ListValue {
  readonly celKind = 'list';
  readonly #items: readonly CelValue[];
  constructor(items: readonly CelValue[]) {
    this.#items = items;
  }
  get size(): number {
    return this.#items.length;
  }
  at(index: number): CelValue {
    return this.#items[index] ?? null;
  }
}

/** The concatenation of two lists. It makes no copy, so repeated `+` cannot fill the memory. */
export class JoinedList implements ListValue {
  readonly celKind = 'list';
  readonly size: number;
  /** How many joined lists are inside one another. */
  readonly joins: number;
  readonly #left: ListValue;
  readonly #right: ListValue;
  constructor(left: ListValue, right: ListValue) {
    this.#left = left;
    this.#right = right;
    this.size = left.size + right.size;
    this.joins = 1 + Math.max(joinsOf(left), joinsOf(right));
  }
  at(index: number): CelValue {
    let list: ListValue = index < this.#left.size ? this.#left : this.#right;
    let place = index < this.#left.size ? index : index - this.#left.size;
    while (list instanceof JoinedList) {
      const left: ListValue = list.#left;
      if (place < left.size) {
        list = left;
      } else {
        place -= left.size;
        list = list.#right;
      }
    }
    return list.at(place);
  }
}

function joinsOf(list: ListValue): number {
  return list instanceof JoinedList ? list.joins : 0;
}

/** A map made by an expression. Numeric keys of equal value are the same key, whatever their type. */
export class EntryMap implements MapValue {
  readonly celKind = 'map';
  readonly #entries = new Map<string | boolean | bigint | number, readonly [CelValue, CelValue]>();
  get size(): number {
    return this.#entries.size;
  }
  set(key: CelValue, value: CelValue): boolean {
    const place = typeof key === 'number' ? undefined : mapKey(key);
    if (place === undefined) throw new EvaluationError('unsupported key type');
    if (this.#entries.has(place)) return false;
    this.#entries.set(place, [key, value]);
    return true;
  }
  get(key: CelValue): CelValue | undefined {
    const place = mapKey(key);
    return place === undefined ? undefined : this.#entries.get(place)?.[1];
  }
  *keys(): Iterable<CelValue> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

function mapKey(key: CelValue): string | boolean | bigint | number | undefined {
  if (typeof key === 'string' || typeof key === 'boolean' || typeof key === 'bigint') return key;
  if (key instanceof Uint) return key.value;
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : key;
  return undefined;
}

export function isList(value: CelValue): value is ListValue {
  return typeof value === 'object' && value !== null && (value as { celKind?: unknown }).celKind === 'list';
}

export function isMap(value: CelValue): value is MapValue {
  return typeof value === 'object' && value !== null && (value as { celKind?: unknown }).celKind === 'map';
}

export function* itemsOf(list: ListValue): Iterable<CelValue> {
  for (let index = 0; index < list.size; index += 1) yield list.at(index);
}

/** Returns the name of a value's type, as `type()` does. */
export function typeNameOf(value: CelValue): string {
  if (value === null) return 'null_type';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      return objectTypeName(value);
  }
}

function objectTypeName(value: CelValue & object): string {
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof OptionalValue) return 'optional_type';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof OpaqueValue) return value.opaqueName;
  if (value.celKind === 'list') return 'list';
  return value.typeName ?? 'map';
}

/** Returns the size of a value for costs: characters, bytes or entries; 1 for all others. */
export function sizeOf(value: CelValue): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof OpaqueValue || isList(value) || isMap(value)) return value.size;
  return 1;
}
