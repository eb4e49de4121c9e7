import { formatTime, parseTime } from '@holdfast/platform/time';
import { isNumeric } from './exact-json.ts';
import { converterError, goType, namedGoType } from './go-types.ts';
import { isInt64, KEPT_MAX, nearestKept } from './int64.ts';
import { isEmptyObject, isJsonArray, isJsonObject, type Json, type JsonObject, jsonTypeName, setOwn } from './json.ts';
import { MAX_STRICT_ERRORS } from './limits.ts';
import { canonicalQuantity, formatQuantity, QuantityError, quantityFromJson } from './quantity.ts';
import type { FieldSchema, ListSchema, MapSchema, ScalarSchema, Schema, StructSchema } from './schema.ts';
import { timeParseError } from './time-errors.ts';
import { zeroScalar } from './typed/unset.ts';

/** The value does not fit its type. The message has the words of Kubernetes' decoder (`json: cannot unmarshal ...`). */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/**
 * Kubernetes decodes data in two ways with different messages: `decoder` for a body or a patched document, `converter`
 * for the result of a strategic merge patch.
 */
export type DecodeWords = 'decoder' | 'converter';

export interface Decoded {
  /** The input itself when nothing changed. */
  readonly value: JsonObject;
  /** `unknown field "spec.foo"`, in document order. */
  readonly unknownFields: readonly string[];
}

/**
 * Checks types and brings the value into its stored form: it drops unknown fields, nulls, empty optional maps and
 * lists, and zeros of fields that omit them; quantities and times become canonical. Throws DecodeError. Branches shared
 * with `stored`, which is an object in stored form, are skipped.
 */
export function decodeWithSchema(
  value: Json,
  schema: StructSchema,
  words: DecodeWords = 'decoder',
  stored?: JsonObject,
): Decoded {
  if (!isJsonObject(value)) {
    throw new DecodeError(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${goType(schema)}`);
  }
  const decoder = new Decoder(words);
  const decoded = decoder.struct(value, schema, stored);
  return { value: decoded, unknownFields: decoder.unknownFields };
}

/**
 * As `decodeWithSchema`, for a body whose text has `oddNumbers` by path. As in Go, `1.0` is not an integer, and a
 * quantity keeps its written form.
 */
export function decodeTextWithSchema(
  value: JsonObject,
  schema: StructSchema,
  oddNumbers: ReadonlyMap<string, string>,
): Decoded {
  const decoder = new Decoder('decoder', oddNumbers);
  return { value: decoder.struct(value, schema), unknownFields: decoder.unknownFields };
}

const inInt32 = (value: number): boolean => value >= -(2 ** 31) && value < 2 ** 31;

class Decoder {
  readonly unknownFields: string[] = [];
  /** The names of the enclosing struct fields, and the struct of the last one, for error messages. */
  readonly #fields: string[] = [];
  /** All steps to the current value. They become text only when an error is reported. */
  readonly #path: (string | number)[] = [];
  #owner = '';
  readonly #words: DecodeWords;

  readonly #oddNumbers: ReadonlyMap<string, string> | undefined;

  constructor(words: DecodeWords, oddNumbers?: ReadonlyMap<string, string>) {
    this.#words = words;
    this.#oddNumbers = oddNumbers;
  }

  struct(value: JsonObject, schema: StructSchema, stored?: JsonObject): JsonObject {
    let copy: Record<string, Json> | undefined;
    const owner = this.#owner;
    for (const key in value) {
      const before = value[key] ?? null;
      const known = stored?.[key];
      if (before === known && typeof before === 'object' && before !== null) continue;
      const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
      if (field === undefined && schema.preserveUnknown === true) continue;
      if (field === undefined) {
        this.#reportUnknown(key);
        copy ??= { ...value };
        delete copy[key];
        continue;
      }
      this.#owner = schema.name;
      this.#fields.push(key);
      const type = field.type();
      const after = before === null ? undefined : this.#below(key, before, type, known);
      this.#fields.pop();
      const isGone = after === undefined || isOmitted(field, type, after);
      if (after === before && !isGone) continue;
      copy ??= { ...value };
      if (isGone) delete copy[key];
      else setOwn(copy, key, after);
    }
    this.#owner = owner;
    return copy ?? value;
  }

  #reportUnknown(key: string): void {
    if (this.unknownFields.length >= MAX_STRICT_ERRORS) return;
    const path = pathText([...this.#path, key]);
    this.unknownFields.push(`unknown field "${path}"`);
  }

  #below(step: string | number, value: Json, schema: Schema, stored?: Json): Json {
    this.#path.push(step);
    const decoded = this.#decode(value, schema, stored);
    this.#path.pop();
    return decoded;
  }

  #decode(value: Json, schema: Schema, stored?: Json): Json {
    switch (schema.kind) {
      case 'scalar':
        return this.#scalar(value, schema);
      case 'struct':
        if (!isJsonObject(value)) return this.#wrongType(value, schema);
        return this.struct(value, schema, isJsonObject(stored) ? stored : undefined);
      case 'map':
        return isJsonObject(value) ? this.#map(value, schema) : this.#wrongType(value, schema);
      case 'list':
        return isJsonArray(value) ? this.#list(value, schema) : this.#wrongType(value, schema);
      case 'any':
        return value;
    }
  }

  #map(value: JsonObject, schema: MapSchema): JsonObject {
    let copy: Record<string, Json> | undefined;
    const values = schema.values();
    for (const key in value) {
      const before = value[key] ?? null;
      const after = before === null ? zeroOf(values) : this.#below(key, before, values);
      if (after === before) continue;
      copy ??= { ...value };
      setOwn(copy, key, after);
    }
    return copy ?? value;
  }

  #list(value: readonly Json[], schema: ListSchema): readonly Json[] {
    let copy: Json[] | undefined;
    const items = schema.items();
    for (let i = 0; i < value.length; i += 1) {
      const before = value[i] ?? null;
      const after = before === null ? zeroOf(items) : this.#below(i, before, items);
      if (after === before) continue;
      copy ??= [...value];
      copy[i] = after;
    }
    return copy ?? value;
  }

  #scalar(value: Json, schema: ScalarSchema): Json {
    switch (schema.scalar) {
      case 'string':
        return typeof value === 'string' ? value : this.#wrongType(value, schema);
      case 'boolean':
        return typeof value === 'boolean' ? value : this.#wrongType(value, schema);
      case 'number':
        return isNumeric(value) ? Number(value) : this.#wrongType(value, schema);
      case 'int32':
      case 'int64':
        return this.#integer(value, schema);
      case 'intOrString':
        return typeof value === 'string' ? value : this.#integer(value, schema);
      case 'quantity':
        return canonicalQuantityOf(this.#written(value) ?? value);
      case 'time':
      case 'microTime':
        return typeof value === 'string' ? canonicalTime(value, schema.scalar) : this.#wrongType(value, schema);
      case 'bytes':
        return typeof value === 'string' ? checkedBase64(value) : this.#wrongType(value, schema);
    }
  }

  #integer(value: Json, schema: ScalarSchema): number {
    if (typeof value === 'bigint') return this.#longInteger(value, schema);
    if (typeof value !== 'number') return this.#wrongType(value, schema);
    const written = this.#written(value);
    const isLong = schema.scalar === 'int64';
    const fits = Number.isInteger(value) && (isLong ? Math.abs(value) <= 2 ** 63 : inInt32(value));
    if (!fits || (written !== undefined && !isInt64(written))) {
      return this.#wrongType(value, schema, `number ${written ?? value}`);
    }
    return isLong ? nearestKept(value) : value;
  }

  /**
   * Fields of built-in kinds are doubles, because code computes with them. An integer that a double would not write
   * back is refused, except at the ends of the range, which stand for "for ever".
   */
  #longInteger(value: bigint, schema: ScalarSchema): number {
    const kept = nearestKept(Number(value));
    const isKept = String(kept) === String(value) || Math.abs(kept) === KEPT_MAX;
    return schema.scalar === 'int64' && isKept ? kept : this.#wrongType(value, schema, `number ${value}`);
  }

  /** Returns the text of an odd number. */
  #written(value: Json): string | undefined {
    return typeof value === 'number' ? this.#oddNumbers?.get(pathText(this.#path)) : undefined;
  }

  #wrongType(value: Json, schema: Schema, found: string = jsonTypeName(value)): never {
    if (this.#words === 'converter') throw new DecodeError(converterError(value, schema));
    const owner = this.#owner.slice(this.#owner.lastIndexOf('.') + 1);
    const where = `Go struct field ${owner}.${this.#fields.join('.')}`;
    throw new DecodeError(`json: cannot unmarshal ${found} into ${where} of type ${this.#typeText(schema)}`);
  }

  #typeText(schema: Schema): string {
    const named = namedGoType(this.#owner, this.#fields.at(-1) ?? '');
    if (named === undefined) return goType(schema);
    return schema.kind === 'list' ? `[]${named}` : named;
  }
}

/** `spec.containers[0].image` */
function pathText(steps: readonly (string | number)[]): string {
  let path = '';
  for (const step of steps) {
    if (typeof step === 'number') path += `[${step}]`;
    else path += path === '' ? step : `.${step}`;
  }
  return path;
}

/** True for a value that Kubernetes' types do not distinguish from absence. */
function isOmitted(field: FieldSchema, type: Schema, value: Json): boolean {
  if (type.kind === 'scalar') return field.omitsZero === true && (value === '' || value === 0 || value === false);
  return field.required !== true && isEmptyCollection(type, value);
}

/** Empty optional maps and lists are omitted on the wire; `any` and structs are not. */
function isEmptyCollection(schema: Schema, value: Json | undefined): boolean {
  if (schema.kind === 'list') return isJsonArray(value) && value.length === 0;
  return schema.kind === 'map' && isJsonObject(value) && isEmptyObject(value);
}

/** The meaning of null in place of an item: the zero value of the type. */
function zeroOf(schema: Schema): Json {
  switch (schema.kind) {
    case 'struct':
      return {};
    case 'map':
    case 'list':
    case 'any':
      return null;
    case 'scalar':
      return zeroScalar(schema.scalar);
  }
}

function canonicalQuantityOf(value: Json): string {
  try {
    return typeof value === 'string' ? canonicalQuantity(value.trim()) : formatQuantity(quantityFromJson(value));
  } catch (error) {
    if (error instanceof QuantityError) throw new DecodeError(error.message, { cause: error });
    throw error;
  }
}

function canonicalTime(text: string, scalar: 'time' | 'microTime'): string {
  const parsed = parseTime(text);
  if (parsed === undefined) throw new DecodeError(timeParseError(text, scalar));
  const seconds = formatTime(parsed);
  if (scalar === 'time') return seconds;
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? '';
  return `${seconds.slice(0, -1)}.${fraction.padEnd(6, '0')}Z`;
}

const NOT_BASE64 = /[^A-Za-z0-9+/]/;

function checkedBase64(text: string): string {
  const joined = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  const padding = joined.endsWith('==') ? 2 : Number(joined.endsWith('='));
  const wrong = NOT_BASE64.exec(padding === 0 ? joined : joined.slice(0, -padding));
  if (wrong === null && joined.length % 4 === 0) return joined;
  throw new DecodeError(`illegal base64 data at input byte ${wrong?.index ?? joined.length - (joined.length % 4)}`);
}
