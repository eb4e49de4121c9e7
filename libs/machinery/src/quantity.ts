import { MAX_QUANTITY_CHARS, MAX_QUANTITY_EXPONENT } from './limits.ts';

/** The output format of a quantity: 1Gi stays binary, 1e3 keeps its exponent. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An exact amount: `nano` counts billionths. */
export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";

const NANO_DIGITS = 9;
const NANO_PER_UNIT = 1_000_000_000n;
const MAX_UNITS = (1n << 63n) - 1n;
const MAX_NANO = MAX_UNITS * NANO_PER_UNIT;
/** Decimal digits that are kept without the cap (a 64-bit integer holds any 18 digits). */
const EXACT_DIGITS = 18;

const SI_EXPONENT: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const SI_SUFFIX: ReadonlyMap<number, string> = new Map(
  [...SI_EXPONENT].map(([suffix, exponent]) => [exponent, suffix]),
);
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

export const ZERO_QUANTITY: Quantity = Object.freeze({ nano: 0n, format: 'DecimalSI' });

const SYNTAX = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;

/** The same few amounts recur, so this many short texts are cached. */
const KNOWN_MAX = 1_024;
const KNOWN_CHARS_MAX = 24;
const parsed = new Map<string, Quantity>();
const canonical = new Map<string, string>();

function remember<T>(known: Map<string, T>, text: string, value: T): T {
  if (text.length > KNOWN_CHARS_MAX) return value;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(ownText(text), value);
  return value;
}

/** Copies the text: a substring keeps its whole parent in memory, for example a megabyte of spaces around an amount. */
function ownText(text: string): string {
  let own = '';
  for (const char of text) own += char;
  return own;
}

/** Throws QuantityError with the words of Kubernetes. */
export function parseQuantity(text: string): Quantity {
  return parsed.get(text) ?? remember(parsed, text, Object.freeze(parseNew(text)));
}

function parseNew(text: string): Quantity {
  const match = text === '' || text.length > MAX_QUANTITY_CHARS ? null : SYNTAX.exec(text);
  if (match === null) throw new QuantityError(FORMAT_WRONG);
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match;
  const unit = parseSuffix(suffix);
  const integer = whole.replace(/^0+/, '');
  const digits = BigInt(`${integer}${fraction}` || '0');
  const magnitude =
    unit.binary > 0
      ? binaryNano(digits, integer, fraction, unit.binary)
      : decimalNano(digits, integer.length + fraction.length, unit.exponent - fraction.length);
  const format = unit.format === 'BinarySI' && magnitude > 0n && magnitude < NANO_PER_UNIT ? 'DecimalSI' : unit.format;
  return { nano: sign === '-' ? -magnitude : magnitude, format };
}

/** Reads a quantity in JSON: a string, a number, or nothing (zero). An empty string is not nothing. */
export function quantityFromJson(value: unknown): Quantity {
  if (value === null || value === undefined) return ZERO_QUANTITY;
  if (typeof value === 'string') return parseQuantity(value.trim());
  if (typeof value === 'number' || typeof value === 'bigint') return parseQuantity(String(value));
  throw new QuantityError(FORMAT_WRONG);
}

interface Unit {
  readonly format: QuantityFormat;
  readonly exponent: number;
  /** Power of 1024; 0 for a decimal unit. */
  readonly binary: number;
}

function parseSuffix(suffix: string): Unit {
  const decimal = SI_EXPONENT.get(suffix);
  if (decimal !== undefined) return { format: 'DecimalSI', exponent: decimal, binary: 0 };
  const binary = BINARY_SUFFIXES.findIndex((name) => name !== '' && name === suffix);
  if (binary > 0) return { format: 'BinarySI', exponent: 0, binary };
  if (/^[eE][-+]?\d+$/.test(suffix)) {
    return { format: 'DecimalExponent', exponent: Number(suffix.slice(1)), binary: 0 };
  }
  throw new QuantityError(SUFFIX_WRONG);
}

/** Rounds any amount below a billionth up, so that a request is never zero. */
function decimalNano(digits: bigint, digitCount: number, scale: number): bigint {
  if (digits === 0n) return 0n;
  const shift = scale + NANO_DIGITS;
  if (shift >= 0) {
    if (scale > MAX_QUANTITY_EXPONENT) return MAX_NANO;
    const nano = digits * 10n ** BigInt(shift);
    return digitCount > EXACT_DIGITS ? cap(nano) : nano;
  }
  if (-shift > digitCount) return 1n;
  return cap(divideUp(digits, 10n ** BigInt(-shift)));
}

function binaryNano(digits: bigint, integer: string, fraction: string, power: number): bigint {
  const nano = divideUp(digits * NANO_PER_UNIT * (1n << BigInt(10 * power)), 10n ** BigInt(fraction.length));
  return integer === '' && fraction === '' ? 0n : cap(nano);
}

const cap = (nano: bigint): bigint => (nano > MAX_NANO ? MAX_NANO : nano);

function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

/** The canonical text: no fraction, the largest unit that is exact. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.nano === 0n) return '0';
  const sign = quantity.nano < 0n ? '-' : '';
  const magnitude = quantity.nano < 0n ? -quantity.nano : quantity.nano;
  if (quantity.format === 'BinarySI' && magnitude % NANO_PER_UNIT === 0n && magnitude >= 1024n * NANO_PER_UNIT) {
    return sign + formatBinary(magnitude / NANO_PER_UNIT);
  }
  return sign + formatDecimal(magnitude, quantity.format === 'DecimalExponent');
}

function formatBinary(units: bigint): string {
  let rest = units;
  let power = 0;
  while (power < BINARY_SUFFIXES.length - 1 && rest % 1024n === 0n) {
    rest /= 1024n;
    power += 1;
  }
  return `${rest}${BINARY_SUFFIXES[power]}`;
}

function formatDecimal(nano: bigint, asExponent: boolean): string {
  let rest = nano;
  let exponent = -NANO_DIGITS;
  const largest = asExponent ? MAX_QUANTITY_EXPONENT * 3 : 18;
  while (exponent < largest && rest % 1000n === 0n) {
    rest /= 1000n;
    exponent += 3;
  }
  if (!asExponent) return `${rest}${SI_SUFFIX.get(exponent) ?? ''}`;
  return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
}

/** Parses and formats: the stored form of a client's text. */
export function canonicalQuantity(text: string): string {
  return canonical.get(text) ?? remember(canonical, text, formatQuantity(parseQuantity(text)));
}

export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  if (a.nano === b.nano) return 0;
  return a.nano < b.nano ? -1 : 1;
}

/** A left operand of zero takes the format of the right one. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

export function subQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano - b.nano, format: a.nano === 0n ? b.format : a.format };
}

/** Returns whole units, rounded away from zero; at most 2^63-1 (exact below 2^53). */
export function value(quantity: Quantity): number {
  return scaled(quantity.nano, NANO_PER_UNIT);
}

/** Returns thousandths, rounded away from zero; at most 2^63-1 (exact below 2^53). */
export function milliValue(quantity: Quantity): number {
  return scaled(quantity.nano, 1_000_000n);
}

function scaled(nano: bigint, unit: bigint): number {
  const magnitude = divideUp(nano < 0n ? -nano : nano, unit);
  const capped = magnitude > MAX_UNITS ? MAX_UNITS : magnitude;
  return Number(nano < 0n ? -capped : capped);
}

export function quantityOfUnits(units: number, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nano: BigInt(units) * NANO_PER_UNIT, format };
}

export function quantityOfMillis(millis: number): Quantity {
  return { nano: BigInt(millis) * 1_000_000n, format: 'DecimalSI' };
}
