import { keysOfDocument, tooManyEntries } from './document-size.ts';
import { parseLongIntegers } from './exact-json.ts';
import type { Json } from './json.ts';
import { findDuplicates, findOddNumbers, JsonSyntaxError } from './json-scan.ts';
import { INEXACT_DIGITS, MAX_ENTRIES, MAX_JSON_DEPTH, MAX_VALUES } from './limits.ts';

export interface ParsedJson {
  /** Integers of 64 bits that a double cannot hold are `bigint` (`exact-json.ts`). */
  readonly value: Json;
  /** `duplicate field "data.a"`, in text order. */
  readonly duplicates: readonly string[];
  /**
   * Some field, or an item of a list, has a number whose value does not determine its text: `1.0`, `1e3`, or 16 digits.
   * `findOddNumbers` returns their paths.
   */
  readonly hasOddNumbers?: true;
  /** The text of a number that no double can hold: `1e400`. Its value is Infinity, which JSON cannot write. */
  readonly hugeNumber?: string;
}

/**
 * Throws JsonSyntaxError with the words of Go's decoder, or StatusError 413. A valid text costs as much as JSON.parse.
 */
export function parseJson(sent: string): ParsedJson {
  const text = MAY_BE_HALF.test(sent) ? withoutHalves(sent) : sent;
  // Counts before it parses: parsing a document that is refused anyway costs ten times as much.
  const { keys, hasOddNumbers, hasLongDigits, mayBeHuge } = surveyText(text);
  const value = parseOrExplain(text, hasLongDigits ? parseLongIntegers : JSON.parse);
  // Fewer keys in the value than in the text: the text has a duplicate key.
  const duplicates = keysOfDocument(value) === keys ? [] : findDuplicates(text);
  const parsed = hasOddNumbers ? { value, duplicates, hasOddNumbers } : { value, duplicates };
  return mayBeHuge && hasInfinite(value) ? { ...parsed, hugeNumber: hugeNumberOf(text) } : parsed;
}

/** True when a number in the value is not finite. */
export function hasInfinite(value: Json): boolean {
  // Does not recurse: the value may be nested deeply.
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'number' && !Number.isFinite(next)) return true;
    if (typeof next === 'object' && next !== null) for (const each of Object.values(next)) open.push(each);
  }
  return false;
}

function hugeNumberOf(text: string): string {
  const huge = findOddNumbers(text)
    .values()
    .find((number) => !Number.isFinite(Number(number)));
  return huge ?? 'Infinity';
}

/**
 * A lone surrogate such as `\ud800` is not a character: UTF-8 cannot encode it, and some clients fail to print it. Go
 * replaces it with U+FFFD.
 */
const withoutHalves = (text: string): string =>
  text.replace(ESCAPE, (escape, isHalf: string | undefined) => (isHalf === undefined ? escape : '\\ufffd'));

const MAY_BE_HALF = /\\u[dD][89a-fA-F]/;
/** A surrogate pair, a lone surrogate, or any other escape. */
const ESCAPE = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

function parseOrExplain(text: string, parse: (text: string) => Json): Json {
  try {
    return parse(text);
  } catch (error) {
    findDuplicates(text);
    throw new JsonSyntaxError('invalid JSON', { cause: error });
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const COMMA = 44;
const OPENING = 91;
const CLOSING = 93;
/** The bit that distinguishes braces from brackets. */
const OF_BRACE = 32;
const SPACE = 32;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
/** `E` and `e` without the bit that distinguishes them. */
const EXPONENT = 69;
const SMALL = 32;

/**
 * Counts keys and entries of a text. In valid JSON a string is a key exactly when a colon follows it. For invalid JSON
 * the parser reports the error. Throws StatusError 413 when a list or an object has too many entries.
 */
function surveyText(text: string): Survey {
  let keys = 0;
  let hasOddNumbers = false;
  let hasLongDigits = false;
  let mayBeHuge = false;
  const entries = new EntryCount();
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at + 1);
      const next = skipSpace(text, at + 1);
      if (text.charCodeAt(next) !== COLON) continue;
      keys += 1;
      hasOddNumbers ||= isOddValue(text, skipSpace(text, next + 1));
      at = next;
    } else if (code >= ZERO && code <= NINE) {
      const end = endOfDigits(text, at);
      hasLongDigits ||= end - at >= INEXACT_DIGITS;
      mayBeHuge ||= end - at >= HUGE_DIGITS || isPositiveExponent(text, at);
      at = end - 1;
    } else if (code === COMMA) entries.next();
    else if ((code & ~OF_BRACE) === OPENING) entries.open();
    else if ((code & ~OF_BRACE) === CLOSING) entries.close();
  }
  return { keys, hasOddNumbers, hasLongDigits, mayBeHuge };
}

/** The largest double has 309 digits. */
const HUGE_DIGITS = 309;

/** True for digits right behind `e` or `e+`. */
function isPositiveExponent(text: string, digits: number): boolean {
  const before = text.charCodeAt(digits - 1);
  const mark = before === PLUS ? text.charCodeAt(digits - 2) : before;
  return (mark & ~SMALL) === EXPONENT;
}

interface Survey {
  readonly keys: number;
  /** As in `ParsedJson`. */
  readonly hasOddNumbers: boolean;
  /** Some number, at any place, has so many digits that a double may not hold it. */
  readonly hasLongDigits: boolean;
  /** Some number may be larger than the largest double. */
  readonly mayBeHuge: boolean;
}

/** Entries of the current list or object, and of the enclosing ones. */
class EntryCount {
  readonly #around: number[] = [];
  #commas = 0;
  #allCommas = 0;

  next(): void {
    this.#commas += 1;
    this.#allCommas += 1;
    // Allows one entry more, because fieldsV1 has one more than the object that it describes. The check of the parsed
    // document is exact.
    if (this.#commas > MAX_ENTRIES || this.#allCommas > 3 * MAX_VALUES) throw tooManyEntries();
  }

  open(): void {
    if (this.#around.length >= SURVEYED_DEPTH_MAX) throw new JsonSyntaxError('exceeded max depth');
    this.#around.push(this.#commas);
    this.#commas = 0;
  }

  close(): void {
    this.#commas = this.#around.pop() ?? 0;
  }
}

/** Adds the level around the values that `MAX_JSON_DEPTH` counts. */
const SURVEYED_DEPTH_MAX = MAX_JSON_DEPTH + 1;

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

/** True when an odd number begins here, or a list that contains one. */
function isOddValue(text: string, start: number): boolean {
  if (text.charCodeAt(start) !== OPENING) return isOddNumber(text, start, endOfDigits(text, start));
  for (let at = start; text.charCodeAt(at) === OPENING || text.charCodeAt(at) === COMMA; ) {
    const first = skipSpace(text, at + 1);
    const end = endOfDigits(text, first);
    if (isOddNumber(text, first, end)) return true;
    if (end === first) return false;
    at = skipSpace(text, end);
  }
  return false;
}

function endOfDigits(text: string, start: number): number {
  let at = start;
  if (text.charCodeAt(at) === MINUS) at += 1;
  while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE) at += 1;
  return at;
}

function isOddNumber(text: string, start: number, end: number): boolean {
  if (end === start) return false;
  const code = text.charCodeAt(end);
  return code === DOT || (code & ~SMALL) === EXPONENT || end - start >= INEXACT_DIGITS;
}

function endOfString(text: string, start: number): number {
  for (let i = start; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i;
    if (code === BACKSLASH) i += 1;
  }
  return text.length;
}
