import { compareStrings } from '../equality.ts';
import { MAX_PRECISION } from '../limits.ts';
import type { Meter } from '../meter.ts';
import {
  type CelValue,
  Duration,
  EvaluationError,
  isList,
  isMap,
  itemsOf,
  type ListValue,
  type MapValue,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
} from '../values.ts';
import { formatDouble } from './conversions.ts';
import { formatDuration, formatTimestamp } from './time-text.ts';

const CLAUSE = /%(?:(%)|(?:\.(\d+))?([\s\S]?))/g;
const DEFAULT_PRECISION = 6;

/** `"%s is %.2f".format([a, b])` */
export function formatText(template: string, args: ListValue, meter: Meter): string {
  let next = 0;
  let chars = 0;
  return template.replace(CLAUSE, (_whole, percent: string | undefined, digits: string | undefined, verb = '') => {
    if (percent !== undefined) return '%';
    if (next >= args.size) throw new EvaluationError(`index ${next} out of range`);
    const precision = digits === undefined ? undefined : Number(digits);
    if (precision !== undefined && precision > MAX_PRECISION) {
      throw new EvaluationError(`precision ${digits} is larger than ${MAX_PRECISION}`);
    }
    next += 1;
    const text = formatOne(verb, args.at(next - 1), { precision, meter });
    chars += text.length;
    meter.text(text.length);
    meter.textSize(chars);
    return text;
  });
}

interface Style {
  readonly precision: number | undefined;
  readonly meter: Meter;
}

function formatOne(verb: string, value: CelValue, { precision, meter }: Style): string {
  switch (verb) {
    case 's':
      return plain(value, meter);
    case 'd':
      return decimal(value);
    case 'f':
      return fixedPoint(value, precision ?? DEFAULT_PRECISION);
    case 'e':
      return scientific(value, precision ?? DEFAULT_PRECISION);
    case 'b':
      return value === true ? '1' : value === false ? '0' : integer(verb, value).toString(2);
    case 'o':
      return integer(verb, value).toString(8);
    case 'x':
    case 'X': {
      const text = hexadecimal(value);
      return verb === 'X' ? text.toUpperCase() : text;
    }
    default:
      throw new EvaluationError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

/** Counts each value before it is written: a list may contain another one many times. */
function plain(value: CelValue, meter: Meter): string {
  meter.text(typeof value === 'string' || value instanceof Uint8Array ? value.length : 1);
  if (value === null) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? formatDouble(value) : notFinite(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.typeName;
  if (isList(value)) return listText(value, meter);
  if (isMap(value)) return mapText(value, meter);
  throw new EvaluationError(
    `error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeNameOf(value)}`,
  );
}

function listText(list: ListValue, meter: Meter): string {
  const parts: string[] = [];
  let chars = 0;
  for (const item of itemsOf(list)) {
    const part = plain(item, meter);
    chars += part.length;
    parts.push(part);
  }
  meter.text(chars);
  return `[${parts.join(', ')}]`;
}

function mapText(map: MapValue, meter: Meter): string {
  const entries: (readonly [string, string])[] = [];
  let chars = 0;
  for (const key of map.keys()) {
    const entry = [plain(key, meter), plain(map.get(key) ?? null, meter)] as const;
    chars += entry[0].length + entry[1].length;
    entries.push(entry);
  }
  meter.text(chars);
  const sorted = entries.toSorted(([a], [b]) => compareStrings(a, b));
  return `{${sorted.map(([key, value]) => `${key}: ${value}`).join(', ')}}`;
}

function decimal(value: CelValue): string {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (typeof value === 'number' && !Number.isFinite(value)) return notFinite(value);
  throw new EvaluationError(
    `error during formatting: decimal clause can only be used on integers, was given ${typeNameOf(value)}`,
  );
}

function integer(verb: string, value: CelValue): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  const kind = verb === 'b' ? 'integers and bools' : 'integers';
  const clause = verb === 'b' ? 'binary' : 'octal';
  throw new EvaluationError(
    `error during formatting: ${clause} clause can only be used on ${kind}, was given ${typeNameOf(value)}`,
  );
}

function hexadecimal(value: CelValue): string {
  if (typeof value === 'bigint') return value.toString(16);
  if (value instanceof Uint) return value.value.toString(16);
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  throw new EvaluationError(
    `error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given ${typeNameOf(value)}`,
  );
}

function double(clause: string, value: CelValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (value === 'NaN') return Number.NaN;
  if (value === 'Infinity') return Infinity;
  if (value === '-Infinity') return -Infinity;
  throw new EvaluationError(
    `error during formatting: ${clause} clause can only be used on doubles, was given ${typeNameOf(value)}`,
  );
}

function notFinite(value: number): string {
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}

const EXACT_DIGITS = 100;

function fixedPoint(value: CelValue, precision: number): string {
  const number = double('fixed-point', value);
  if (!Number.isFinite(number)) return notFinite(number);
  const text = toFixedEven(number, Math.min(precision, EXACT_DIGITS));
  return precision <= EXACT_DIGITS ? text : text + '0'.repeat(precision - EXACT_DIGITS);
}

/** Rounds a half to even, as Go does; `toFixed` rounds it up. */
function toFixedEven(number: number, precision: number): string {
  const text = toFixed(number, precision);
  const scaled = Math.abs(number) * 10 ** precision;
  if (precision > 15 || scaled % 1 !== 0.5) return text;
  const even = 2 * Math.round(scaled / 2);
  return toFixed((Math.sign(number) * even) / 10 ** precision, precision);
}

/** Unlike the built-in `toFixed`, writes no exponents from 1e21 on. */
function toFixed(number: number, precision: number): string {
  if (Math.abs(number) < 1e21) return number.toFixed(precision);
  return `${BigInt(number)}${precision > 0 ? `.${'0'.repeat(precision)}` : ''}`;
}

function scientific(value: CelValue, precision: number): string {
  const number = double('scientific', value);
  if (!Number.isFinite(number)) return notFinite(number);
  return number.toExponential(Math.min(precision, EXACT_DIGITS)).replace(/e([+-])(\d)$/, 'e$10$2');
}
