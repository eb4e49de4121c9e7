import '@holdfast/platform/bigint-json';
import { isInt64 } from './int64.ts';
import { type Json, type MutableJsonObject, setOwn } from './json.ts';

import { INEXACT_DIGITS } from './limits.ts';

/**
 * Integers of 64 bits that a double cannot hold are `bigint` in memory: 9007199254740993. All other numbers are
 * `number`, also integers beyond 64 bits, which are doubles in Go too. `JSON.stringify` writes both as digits.
 */
export function parseExactJson(text: string): Json {
  return LONG_DIGITS.test(text) ? parseLongIntegers(text) : JSON.parse(text);
}

/** As `parseExactJson`, faster: for text that `JSON.stringify` wrote, without spaces. */
export function parseCompactJson(text: string): Json {
  return mayHoldLongIntegers(text) ? parseLongIntegers(text) : JSON.parse(text);
}

/** True for text that `JSON.stringify` wrote when it has a long integer, and for some other text. */
export const mayHoldLongIntegers = (text: string): boolean => LONG_DIGITS_COMPACT.test(text);

const LONG_DIGITS = /\d{16}/;
/** Finds its place without looking at every digit: three times as fast. */
const LONG_DIGITS_COMPACT = /[:[,]-?\d{16}/;

/** For a text that contains long integers: takes about three times as long as `JSON.parse`. */
export function parseLongIntegers(text: string): Json {
  // Throws for invalid text, which the marks could make valid.
  const rounded: Json = JSON.parse(text);
  const marked = markLongIntegers(withoutMarks(text));
  return marked === undefined ? rounded : restored(JSON.parse(marked));
}

/** Half a character: no well-formed text contains it. Here it begins a string that stands for an integer. */
const MARK = '\ud800';
const MARK_CODE = MARK.charCodeAt(0);
/** An integer that is marked, or the same characters in the text of a user. */
const MARKED = /^\ud800-?\d+$/;

/** Go, too, replaces half a character. */
const withoutMarks = (text: string): string =>
  (ESCAPED_MARK.test(text) ? text.replace(ESCAPES, (escape) => (ESCAPED_MARK.test(escape) ? '\\ufffd' : escape)) : text)
    // Costs nothing for a well-formed text.
    .toWellFormed();

const ESCAPED_MARK = /\\ud800(?!\\u[dD][c-fC-F])/i;
/** An escape, together with the second half of its character. */
const ESCAPES = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g;

const QUOTE = 34;
const BACKSLASH = 92;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
/** `e`, and the bit that distinguishes it from `E`. */
const EXPONENT = 101;
const SMALL = 32;

/** Replaces long integers by marked strings. Returns undefined when there is none. */
function markLongIntegers(text: string): string | undefined {
  let marked = '';
  let done = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1);
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at);
      if (end - at >= INEXACT_DIGITS && isLongInteger(text.slice(at, end))) {
        marked += `${text.slice(done, at)}"${MARK}${text.slice(at, end)}"`;
        done = end;
      }
      at = end - 1;
    }
  }
  return done === 0 ? undefined : marked + text.slice(done);
}

function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (isInNumber(text.charCodeAt(at))) at += 1;
  return at;
}

const isInNumber = (code: number): boolean =>
  (code >= ZERO && code <= NINE) || code === DOT || code === PLUS || code === MINUS || (code | SMALL) === EXPONENT;

/** True for the digits of an integer that fits 64 bits but not a double. */
const isLongInteger = (digits: string): boolean => !Number.isSafeInteger(Number(digits)) && isInt64(digits);

/** Changes the freshly parsed value in place. Does not recurse: the text may be nested deeply. */
function restored(value: Json): Json {
  const top: MutableJsonObject = { value };
  const open: object[] = [top];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) restoreItems(next, open);
    else restoreMembers(next as MutableJsonObject, open);
  }
  return top['value'] ?? null;
}

function restoreItems(items: Json[], open: object[]): void {
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i] ?? null;
    if (typeof item === 'object' && item !== null) open.push(item);
    else if (isMarked(item)) items[i] = BigInt(item.slice(1));
  }
}

function restoreMembers(object: MutableJsonObject, open: object[]): void {
  for (const key of Object.keys(object)) {
    const child = object[key] ?? null;
    if (typeof child === 'object' && child !== null) open.push(child);
    else if (isMarked(child)) setOwn(object, key, BigInt(child.slice(1)));
  }
}

const isMarked = (value: Json): value is string =>
  typeof value === 'string' && value.charCodeAt(0) === MARK_CODE && MARKED.test(value);

/** True for a value that is an integer in Go's JSON: `int64`, or a double without a fraction. */
export const isWhole = (value: Json | undefined): value is number | bigint =>
  typeof value === 'bigint' || Number.isInteger(value);

export const isNumeric = (value: Json | undefined): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

export { setOwn } from './json.ts';

/** Integers that a double cannot hold as `bigint`, as a parser makes them. */
export function exactInteger(value: bigint): number | bigint {
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) || BigInt.asIntN(64, value) !== value ? rounded : value;
}
