import { traverses } from '../estimates.ts';
import { type Functions, FunctionTable, type Overload, signature } from '../overload.ts';
import { BOOL, BYTES, type CelType, DOUBLE, DURATION, DYN, INT, param, STRING, TIMESTAMP, UINT } from '../types.ts';
import {
  type CelValue,
  type Duration,
  EvaluationError,
  NANOS_PER_SECOND,
  type Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
} from '../values.ts';
import { checkedInt, checkedTimestamp, checkedUint } from './ranges.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from './time-text.ts';

const table = new FunctionTable();
type Run = Overload['run'];
const same: Run = ([a]) => a ?? null;

function convert(name: string, from: CelType, to: CelType, run: Run = same): void {
  const id = `${from.kind}_to_${name}`;
  const traversed = (from === STRING && to === BYTES) || (from === BYTES && to === STRING);
  table.global(name, id, signature([from], to), run, traversed ? traverses(0) : {});
}

convert('int', INT, INT);
convert('int', UINT, INT, ([a]) => checkedInt((a as Uint).value));
convert('int', DOUBLE, INT, ([a]) => wholePart(a as number));
convert('int', STRING, INT, ([a]) => checkedInt(parseWhole(a as string, /^[+-]?\d+$/)));
convert('int', TIMESTAMP, INT, ([a]) => floorSeconds((a as Timestamp).nanos));
convert('int', DURATION, INT, ([a]) => (a as Duration).nanos);
convert('uint', UINT, UINT);
convert('uint', INT, UINT, ([a]) => new Uint(checkedUint(a as bigint)));
convert('uint', DOUBLE, UINT, ([a]) => new Uint(unsignedPart(a as number)));
convert('uint', STRING, UINT, ([a]) => new Uint(checkedUint(parseWhole(a as string, /^\d+$/))));
convert('double', DOUBLE, DOUBLE);
convert('double', INT, DOUBLE, ([a]) => Number(a as bigint));
convert('double', UINT, DOUBLE, ([a]) => Number((a as Uint).value));
convert('double', STRING, DOUBLE, ([a]) => parseDouble(a as string));
convert('string', STRING, STRING);
convert('string', INT, STRING, ([a]) => String(a as bigint));
convert('string', UINT, STRING, ([a]) => String((a as Uint).value));
convert('string', DOUBLE, STRING, ([a]) => formatDouble(a as number));
convert('string', BOOL, STRING, ([a]) => String(a as boolean));
convert('string', BYTES, STRING, ([a]) => textOf(a as Uint8Array));
convert('string', TIMESTAMP, STRING, ([a]) => formatTimestamp(a as Timestamp));
convert('string', DURATION, STRING, ([a]) => formatDuration(a as Duration));
convert('bytes', BYTES, BYTES);
convert('bytes', STRING, BYTES, ([a]) => new TextEncoder().encode(a as string));
convert('bool', BOOL, BOOL);
convert('bool', STRING, BOOL, ([a]) => parseBool(a as string));
convert('timestamp', TIMESTAMP, TIMESTAMP);
convert('timestamp', INT, TIMESTAMP, ([a]) => checkedTimestamp((a as bigint) * NANOS_PER_SECOND));
convert('timestamp', STRING, TIMESTAMP, ([a]) => timestampOf(a as string));
convert('duration', DURATION, DURATION);
convert('duration', INT, DURATION, ([a]) => durationOf(`${a as bigint}ns`));
convert('duration', STRING, DURATION, ([a]) => durationOf(a as string));
table.global(
  'type',
  'type',
  signature([param('A')], { kind: 'type', of: DYN }),
  ([a]) => new TypeValue(typeNameOf(a ?? null)),
);

const TWO_63 = 2 ** 63;
const TWO_64 = 2 ** 64;

function wholePart(value: number): bigint {
  // Refuses the lower bound itself, as CEL in Go does: a double near it may stand for a smaller value.
  if (!(value > -TWO_63 && value < TWO_63)) throw new EvaluationError('integer overflow');
  return BigInt(Math.trunc(value));
}

function unsignedPart(value: number): bigint {
  if (!(value >= 0 && value < TWO_64)) throw new EvaluationError('unsigned integer overflow');
  return BigInt(Math.trunc(value));
}

const MAX_NUMBER_CHARS = 400;

function parseWhole(text: string, syntax: RegExp): bigint {
  if (text.length > MAX_NUMBER_CHARS || !syntax.test(text)) throw typeConversion(text, 'int');
  return BigInt(text.startsWith('+') ? text.slice(1) : text);
}

const DOUBLE_SYNTAX = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const NAMED_DOUBLES: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Infinity],
  ['+inf', Infinity],
  ['-inf', -Infinity],
  ['infinity', Infinity],
  ['+infinity', Infinity],
  ['-infinity', -Infinity],
]);

function parseDouble(text: string): number {
  const named = NAMED_DOUBLES.get(text.toLowerCase());
  if (named !== undefined) return named;
  if (text.length > MAX_NUMBER_CHARS || !DOUBLE_SYNTAX.test(text)) throw typeConversion(text, 'double');
  return Number(text);
}

/** Returns the shortest text that parses to the same number, with Go's exponents. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  if (exponent >= -4 && exponent < 21) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new EvaluationError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

const TRUE_WORDS = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE_WORDS = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function parseBool(text: string): boolean {
  if (TRUE_WORDS.has(text)) return true;
  if (FALSE_WORDS.has(text)) return false;
  throw typeConversion(text, 'bool');
}

function timestampOf(text: string): CelValue {
  const timestamp = parseTimestamp(text);
  if (timestamp === undefined) throw typeConversion(text, 'google.protobuf.Timestamp');
  return timestamp;
}

function durationOf(text: string): CelValue {
  const duration = parseDuration(text);
  if (duration === undefined) throw typeConversion(text, 'google.protobuf.Duration');
  return duration;
}

const SHOWN_CHARS = 100;

function floorSeconds(nanos: bigint): bigint {
  const seconds = nanos / NANOS_PER_SECOND;
  return nanos < 0n && nanos % NANOS_PER_SECOND !== 0n ? seconds - 1n : seconds;
}

function typeConversion(text: string, wanted: string): EvaluationError {
  return new EvaluationError(`type conversion error from '${text.slice(0, SHOWN_CHARS)}' to '${wanted}'`);
}

export const CONVERSIONS: Functions = table.build();
