import { type Costs, MATCHES, SEARCHES_TEXT, traverses, traversesTarget, VISITS_ELEMENTS } from '../estimates.ts';
import { STRING_TRAVERSAL_FACTOR } from '../limits.ts';
import type { Meter } from '../meter.ts';
import { type Functions, FunctionTable, type RunContext, signature } from '../overload.ts';
import { matches } from '../patterns.ts';
import { add, fixed, multiply, scale, UNKNOWN_SIZE } from '../size.ts';
import { BOOL, BYTES, DYN, INT, listOf, mapOf, param, STRING } from '../types.ts';
import {
  ArrayList,
  type CelValue,
  EvaluationError,
  isList,
  isMap,
  itemsOf,
  type ListValue,
  sizeOf,
} from '../values.ts';
import { charCount, indexOfChars, lastIndexOfChars, sliceChars } from './characters.ts';
import { formatText } from './format-text.ts';

const table = new FunctionTable();
const A = param('A');
const B = param('B');

for (const [kind, type] of [
  ['string', STRING],
  ['bytes', BYTES],
  ['list', listOf(A)],
  ['map', mapOf(A, B)],
] as const) {
  table
    .global('size', `size_${kind}`, signature([type], INT), size)
    .member('size', `${kind}_size`, signature([type], INT), size);
}

function size([value]: readonly CelValue[]): CelValue {
  if (typeof value === 'string') return BigInt(charCount(value));
  if (value instanceof Uint8Array) return BigInt(value.length);
  const container = value ?? null;
  if (isList(container) || isMap(container)) return BigInt(container.size);
  throw new EvaluationError('no such overload');
}

const matchesPattern = ([text, pattern]: readonly CelValue[], { meter }: RunContext): boolean =>
  matches(text as string, pattern as string, meter);

table
  .member(
    'contains',
    'contains_string',
    signature([STRING, STRING], BOOL),
    ([a, b]) => (a as string).includes(b as string),
    SEARCHES_TEXT,
  )
  .member(
    'startsWith',
    'starts_with_string',
    signature([STRING, STRING], BOOL),
    ([a, b]) => (a as string).startsWith(b as string),
    startCosts(),
  )
  .member(
    'endsWith',
    'ends_with_string',
    signature([STRING, STRING], BOOL),
    ([a, b]) => (a as string).endsWith(b as string),
    startCosts(),
  )
  .member('matches', 'matches_string', signature([STRING, STRING], BOOL), matchesPattern, MATCHES)
  .global('matches', 'matches', signature([STRING, STRING], BOOL), matchesPattern, MATCHES);

/** At run time the length of the target counts, in estimates that of the argument. */
function startCosts(): Costs {
  return { ...traverses(1), ...pick(traverses(0)) };
}

function pick({ cost }: Costs): Costs {
  return cost === undefined ? {} : { cost };
}

table
  .member('charAt', 'string_char_at_int', signature([STRING, INT], STRING), ([text, index]) =>
    charAt(text as string, Number(index)),
  )
  .member(
    'indexOf',
    'string_index_of_string',
    signature([STRING, STRING], INT),
    ([text, search]) => indexOf(text as string, search as string, 0),
    VISITS_ELEMENTS,
  )
  .member(
    'indexOf',
    'string_index_of_string_int',
    signature([STRING, STRING, INT], INT),
    ([text, search, from]) => indexOf(text as string, search as string, Number(from)),
    VISITS_ELEMENTS,
  )
  .member(
    'lastIndexOf',
    'string_last_index_of_string',
    signature([STRING, STRING], INT),
    ([text, search]) => lastIndexOf(text as string, search as string, undefined),
    VISITS_ELEMENTS,
  )
  .member(
    'lastIndexOf',
    'string_last_index_of_string_int',
    signature([STRING, STRING, INT], INT),
    ([text, search, from]) => lastIndexOf(text as string, search as string, Number(from)),
    VISITS_ELEMENTS,
  )
  .member(
    'lowerAscii',
    'string_lower_ascii',
    signature([STRING], STRING),
    ([text]) => (text as string).replace(/[A-Z]+/g, (part) => part.toLowerCase()),
    traversesTarget(),
  )
  .member(
    'upperAscii',
    'string_upper_ascii',
    signature([STRING], STRING),
    ([text]) => (text as string).replace(/[a-z]+/g, (part) => part.toUpperCase()),
    traversesTarget(),
  )
  .member('trim', 'string_trim', signature([STRING], STRING), ([text]) => trim(text as string), traversesTarget())
  .member(
    'substring',
    'string_substring_int',
    signature([STRING, INT], STRING),
    ([text, start]) => substring(text as string, Number(start), undefined),
    traversesTarget(),
  )
  .member(
    'substring',
    'string_substring_int_int',
    signature([STRING, INT, INT], STRING),
    ([text, start, end]) => substring(text as string, Number(start), Number(end)),
    traversesTarget(),
  )
  .member(
    'replace',
    'string_replace_string_string',
    signature([STRING, STRING, STRING], STRING),
    ([text, search, by], { meter }) => replace(text as string, [search as string, by as string], -1, meter),
    replaceCosts(),
  )
  .member(
    'replace',
    'string_replace_string_string_int',
    signature([STRING, STRING, STRING, INT], STRING),
    ([text, search, by, count], { meter }) =>
      replace(text as string, [search as string, by as string], Number(count), meter),
    replaceCosts(),
  )
  .member(
    'split',
    'string_split_string',
    signature([STRING, STRING], listOf(STRING)),
    ([text, by]) => split(text as string, by as string, -1),
    splitCosts(),
  )
  .member(
    'split',
    'string_split_string_int',
    signature([STRING, STRING, INT], listOf(STRING)),
    ([text, by, count]) => split(text as string, by as string, Number(count)),
    splitCosts(),
  )
  .member(
    'join',
    'list_join',
    signature([listOf(STRING)], STRING),
    ([list], { meter }) => join(list as ListValue, '', meter),
    joinCosts(),
  )
  .member(
    'join',
    'list_join_string',
    signature([listOf(STRING), STRING], STRING),
    ([list, by], { meter }) => join(list as ListValue, by as string, meter),
    joinCosts(),
  )
  .member(
    'format',
    'string_format',
    signature([STRING, listOf(DYN)], STRING),
    ([text, args], { meter }) => formatText(text as string, args as ListValue, meter),
    {
      cost: (args, result) => Math.ceil((sizeOf(args[0] ?? null) + sizeOf(result)) * STRING_TRAVERSAL_FACTOR),
      estimate: (args) => ({ cost: scale(args[0]?.size ?? UNKNOWN_SIZE, STRING_TRAVERSAL_FACTOR) }),
    },
  )
  .global(
    'strings.quote',
    'strings_quote',
    signature([STRING], STRING),
    ([text]) => quote(text as string),
    traverses(0),
  );

function charAt(text: string, index: number): string {
  if (index < 0 || index > charCount(text)) throw new EvaluationError(`index out of range: ${index}`);
  return sliceChars(text, index, index + 1);
}

function indexOf(text: string, search: string, from: number): bigint {
  if (search === '') return BigInt(from);
  if (from < 0 || from > charCount(text)) throw new EvaluationError(`index out of range: ${from}`);
  return BigInt(indexOfChars(text, search, from));
}

function lastIndexOf(text: string, search: string, from: number | undefined): bigint {
  const length = charCount(text);
  if (search === '') return BigInt(from ?? length);
  if (from !== undefined && (from < 0 || from > length)) throw new EvaluationError(`index out of range: ${from}`);
  return BigInt(lastIndexOfChars(text, search, from ?? length));
}

const WHITE_SPACE = /\p{White_Space}/u;

/** Removes Unicode white space from both ends; JavaScript's own `trim` also removes the byte order mark. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && WHITE_SPACE.test(text.charAt(start))) start += 1;
  while (end > start && WHITE_SPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function substring(text: string, start: number, end: number | undefined): string {
  const length = charCount(text);
  if (start < 0 || start > length) throw new EvaluationError(`index out of range: ${start}`);
  if (end !== undefined && (end < 0 || end > length)) throw new EvaluationError(`index out of range: ${end}`);
  if (end !== undefined && start > end) {
    throw new EvaluationError(`invalid substring range. start: ${start}, end: ${end}`);
  }
  return sliceChars(text, start, end ?? length);
}

/** A negative count replaces all matches. An empty search string matches between all characters. */
function replace(text: string, [search, by]: readonly [string, string], ...[count, meter]: [number, Meter]): string {
  meter.text(replacedSize(text, [search, by], count));
  if (count < 0) return search === '' ? between(Array.from(text), by, Infinity) : text.replaceAll(search, () => by);
  if (search === '') return between(Array.from(text), by, count);
  const parts = text.split(search);
  const kept = Math.min(count, parts.length - 1);
  return [...parts.slice(0, kept), parts.slice(kept).join(search)].join(by);
}

/** The cost of a replacement tells nothing about the size of its result. */
function replacedSize(text: string, [search, by]: readonly [string, string], count: number): number {
  if (by.length <= search.length) return text.length;
  const found = search === '' ? text.length + 1 : matchesIn(text, search);
  return text.length + (count < 0 ? found : Math.min(count, found)) * (by.length - search.length);
}

function matchesIn(text: string, search: string): number {
  let matches = 0;
  for (let at = text.indexOf(search); at !== -1; at = text.indexOf(search, at + search.length)) matches += 1;
  return matches;
}

function between(chars: readonly string[], by: string, count: number): string {
  let left = count;
  let result = '';
  for (const char of chars) {
    if (left > 0) result += by;
    left -= 1;
    result += char;
  }
  return left > 0 ? result + by : result;
}

function split(text: string, by: string, count: number): ListValue {
  if (count === 0) return new ArrayList([]);
  const parts = by === '' ? Array.from(text) : text.split(by);
  if (count < 0 || count >= parts.length) return new ArrayList(parts);
  return new ArrayList([...parts.slice(0, count - 1), parts.slice(count - 1).join(by)]);
}

function join(list: ListValue, by: string, meter: Meter): string {
  const parts: string[] = [];
  let chars = 0;
  for (const item of itemsOf(list)) {
    if (typeof item !== 'string') throw new EvaluationError('no such overload');
    chars += item.length + by.length;
    parts.push(item);
    meter.work(1);
  }
  meter.text(chars);
  return parts.join(by);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

function quote(text: string): string {
  let quoted = '';
  for (const char of text.toWellFormed()) quoted += ESCAPES.get(char) ?? char;
  return `"${quoted}"`;
}

function replaceCosts(): Costs {
  return {
    ...traverses(0, 2),
    estimate: (args) => {
      const size = args[0]?.size ?? UNKNOWN_SIZE;
      const search = args[1]?.size ?? UNKNOWN_SIZE;
      const by = args[2]?.size ?? UNKNOWN_SIZE;
      const count = search.min === 0 ? size.max + 1 : by.max <= search.min ? 0 : Math.ceil(size.max / search.min);
      const kept = search.min === 0 || by.max <= search.min ? size.max : 0;
      const max = (count === 0 || by.max === 0 ? 0 : count * by.max) + kept;
      return { cost: scale(size, 2 * STRING_TRAVERSAL_FACTOR), resultSize: { min: 0, max } };
    },
  };
}

function splitCosts(): Costs {
  return {
    ...traverses(0, 2),
    estimate: (args) => {
      const size = args[0]?.size ?? UNKNOWN_SIZE;
      const limit = args[2]?.literal;
      const max = typeof limit === 'bigint' && limit >= 0n ? Math.min(size.max, Number(limit)) : size.max;
      return { cost: scale(size, 2 * STRING_TRAVERSAL_FACTOR), resultSize: { min: 0, max } };
    },
  };
}

function joinCosts(): Costs {
  return {
    cost: (_args, result) => Math.ceil(sizeOf(result) * 2 * STRING_TRAVERSAL_FACTOR),
    estimate: (args) => {
      const list = args[0]?.size ?? UNKNOWN_SIZE;
      const texts = multiply(list, args[0]?.elementSize ?? UNKNOWN_SIZE);
      const gaps = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
      const resultSize = add(texts, multiply(args[1]?.size ?? fixed(0), gaps));
      return { cost: scale(resultSize, STRING_TRAVERSAL_FACTOR), resultSize };
    },
  };
}

export const STRINGS: Functions = table.build();
