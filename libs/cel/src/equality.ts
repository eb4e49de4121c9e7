import { COMPARED_CHARS_PER_STEP } from './limits.ts';
import type { Meter } from './meter.ts';
import {
  type CelValue,
  Duration,
  EvaluationError,
  isList,
  isMap,
  type ListValue,
  type MapValue,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
} from './values.ts';

/**
 * Equality over all types: numbers compare by value, other values only with their own kind. Each visited value is counted:
 * lists that contain each other several times have far more of them than the cost of `==` tells.
 */
export function equals(left: CelValue, right: CelValue, meter: Meter): boolean {
  meter.work(stepsOf(left, right));
  if (left === right) return true;
  if (left === null || right === null) return false;
  if (isNumber(left)) return isNumber(right) && compareNumbers(left, right) === 0;
  if (typeof left !== 'object' || typeof right !== 'object') return false;
  if (isList(left)) return isList(right) && equalLists(left, right, meter);
  if (isMap(left)) return isMap(right) && equalMaps(left, right, meter);
  return equalObjects(left, right, meter);
}

/** Texts of different lengths are not read. */
function stepsOf(left: CelValue, right: CelValue): number {
  const isRead =
    (typeof left === 'string' && typeof right === 'string') ||
    (left instanceof Uint8Array && right instanceof Uint8Array);
  return isRead && left.length === right.length ? 1 + left.length / COMPARED_CHARS_PER_STEP : 1;
}

function equalObjects(left: CelValue & object, right: CelValue & object, meter: Meter): boolean {
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof Uint8Array) return right instanceof Uint8Array && equalBytes(left, right);
  if (left instanceof TypeValue) return right instanceof TypeValue && left.typeName === right.typeName;
  if (left instanceof OptionalValue) return right instanceof OptionalValue && equalOptionals(left, right, meter);
  return left instanceof OpaqueValue && right instanceof OpaqueValue && left.equals(right);
}

function equalOptionals(left: OptionalValue, right: OptionalValue, meter: Meter): boolean {
  if (left.value === undefined || right.value === undefined) return left.value === right.value;
  return equals(left.value, right.value, meter);
}

function equalLists(left: ListValue, right: ListValue, meter: Meter): boolean {
  if (left.size !== right.size) return false;
  const merge = left.merge ?? right.merge;
  if (merge !== undefined) return merge.equals(left, right, meter);
  for (let index = 0; index < left.size; index += 1) {
    if (!equals(left.at(index), right.at(index), meter)) return false;
  }
  return true;
}

function equalMaps(left: MapValue, right: MapValue, meter: Meter): boolean {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    const other = right.get(key);
    if (other === undefined || !equals(left.get(key) ?? null, other, meter)) return false;
  }
  return true;
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && Buffer.compare(left, right) === 0;
}

export type CelNumber = bigint | number | Uint;

export function isNumber(value: CelValue): value is CelNumber {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
}

/** Returns NaN when one operand is not a number. */
export function compareNumbers(left: CelNumber, right: CelNumber): number {
  const x = left instanceof Uint ? left.value : left;
  const y = right instanceof Uint ? right.value : right;
  // Beside a double, integers convert to doubles, as in Go: near 2^63 they lose digits.
  const mixed = typeof x !== typeof y;
  const a = mixed ? Number(x) : x;
  const b = mixed ? Number(y) : y;
  if (a < b) return -1;
  if (a > b) return 1;
  return a === b ? 0 : Number.NaN;
}

/** Returns a negative number, zero or a positive number; NaN when an operand is NaN. */
export function compare(left: CelValue, right: CelValue): number {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (typeof left === 'string' && typeof right === 'string') return compareStrings(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (left instanceof Timestamp && right instanceof Timestamp) return compareNumbers(left.nanos, right.nanos);
  if (left instanceof Duration && right instanceof Duration) return compareNumbers(left.nanos, right.nanos);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  throw new EvaluationError('no such overload');
}

/** Compares code points: UTF-16 order differs for characters beyond the basic plane. */
export function compareStrings(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    const surrogateA = a >= 0xd800 && a <= 0xdfff;
    const surrogateB = b >= 0xd800 && b <= 0xdfff;
    if (surrogateA !== surrogateB) return surrogateA ? 1 : -1;
    return a - b;
  }
  return left.length - right.length;
}

export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
