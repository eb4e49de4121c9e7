import { isNumeric, parseExactJson } from '../exact-json.ts';
import { isJsonArray, isJsonObject, type Json, type JsonObject, ownValue } from '../json.ts';

/**
 * One step of a field path, in the notation of FieldsV1: `f:spec` (a field or map key), `k:{"name":"web"}` (an item of
 * an associative list), `v:"x"` (an item of a set), `i:0` (a position).
 */
export type PathElement = string;
export type FieldPath = readonly PathElement[];

export const fieldElement = (name: string): PathElement => `f:${name}`;

/** Sorts keys alphabetically, whatever their order in the item. */
export function keyElement(keys: JsonObject): PathElement {
  const sorted = Object.keys(keys).sort();
  return `k:{${sorted.map((key) => `${JSON.stringify(key)}:${JSON.stringify(ownValue(keys, key))}`).join(',')}}`;
}

export const valueElement = (value: Json): PathElement => `v:${JSON.stringify(value)}`;

/** One plain key: nothing to sort and only one possible notation. */
const SINGLE_KEY = /^k:\{"[\w./-]*":"[\w./-]*"\}$/;

/** Normalizes an element from a client; `undefined` for an unknown kind of element. */
export function normalizeElement(text: string): PathElement | undefined {
  switch (text.slice(0, 2)) {
    case 'f:':
      return text;
    case 'k:': {
      if (SINGLE_KEY.test(text)) return text;
      const keys = parseExactJson(text.slice(2));
      return isJsonObject(keys) ? keyElement(keys) : undefined;
    }
    case 'v:':
      return valueElement(parseExactJson(text.slice(2)));
    case 'i:':
      return /^i:-?\d+$/.test(text) ? text : undefined;
    default:
      return undefined;
  }
}

const KIND_RANK: ReadonlyMap<string, number> = new Map(Object.entries({ f: 0, k: 1, v: 2, i: 3 }));
const FIELD_RANK = 0;
const rankOf = (element: PathElement): number => KIND_RANK.get(element.charAt(0)) ?? 4;

/** Orders fields, then keys, then values, then positions. */
export function compareElements(a: PathElement, b: PathElement): number {
  return new SortableElement(a).compare(new SortableElement(b));
}

/** An element for many comparisons: it parses its content once. */
export class SortableElement {
  readonly element: PathElement;
  readonly #rank: number;
  /** The name of the only key, when its values sort like their texts. */
  readonly #plainKey: string | undefined;
  #value: Json | undefined;

  constructor(element: PathElement) {
    this.element = element;
    this.#rank = rankOf(element);
    this.#plainKey = SINGLE_KEY.test(element) ? element.slice(0, element.indexOf(':', 2)) : undefined;
  }

  compare(other: SortableElement): number {
    const [a, b] = [this.element, other.element];
    if (a === b) return 0;
    if (this.#rank !== other.#rank) return this.#rank - other.#rank;
    const isText = this.#rank === FIELD_RANK || (this.#plainKey !== undefined && this.#plainKey === other.#plainKey);
    if (isText) return a < b ? -1 : 1;
    return compareJson(this.#parsed(), other.#parsed());
  }

  #parsed(): Json {
    this.#value ??= parseExactJson(this.element.slice(2));
    return this.#value;
  }
}

const TYPE_RANK: readonly string[] = ['number', 'string', 'boolean'];
const rankOfType = (value: Json): number => TYPE_RANK.indexOf(isNumeric(value) ? 'number' : typeof value);

function compareJson(a: Json, b: Json): number {
  if (isNumeric(a) && isNumeric(b)) return a === b ? 0 : a < b ? -1 : 1;
  const rank = rankOfType(a) - rankOfType(b);
  if (rank !== 0) return rank;
  if (isJsonObject(a) && isJsonObject(b)) return compareKeys(a, b);
  const left = textOf(a);
  const right = textOf(b);
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function compareKeys(a: JsonObject, b: JsonObject): number {
  const left = Object.entries(a);
  const right = Object.entries(b);
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (name !== other[0]) return name < other[0] ? -1 : 1;
    const order = compareJson(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** `.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]` */
export function formatPath(path: FieldPath): string {
  return path.map(formatElement).join('');
}

function formatElement(element: PathElement): string {
  const rest = element.slice(2);
  if (element.startsWith('f:')) return `.${rest}`;
  if (element.startsWith('v:')) return `[=${rest}]`;
  if (element.startsWith('i:')) return `[${rest}]`;
  const keys = parseExactJson(rest);
  if (!isJsonObject(keys) || isJsonArray(keys)) return `[${rest}]`;
  return `[${Object.entries(keys)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')}]`;
}
