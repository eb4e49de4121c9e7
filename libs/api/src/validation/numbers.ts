import { type FieldError, invalid } from '@holdfast/machinery';
import { percentErrors } from './formats.ts';
import { goIntOrString } from './go-text.ts';

export const NEGATIVE_TEXT = 'must be greater than or equal to 0';
export const NOT_POSITIVE_TEXT = 'must be greater than 0';
/** The same, in the words of the core group. */
export const NOT_ABOVE_ZERO_TEXT = 'must be greater than zero';
/** The first number above Go's int. */
export const GO_INT_END = 2 ** 63;
export const IMMUTABLE_TEXT = 'field is immutable';

export function validateNonNegative(out: FieldError[], path: string, value: number | undefined): void {
  if (value !== undefined && value < 0) out.push(invalid(path, value, NEGATIVE_TEXT));
}

/** A count that only grows: once set it cannot be removed, not even from zero. */
export function validateNotDecremented(
  out: FieldError[],
  path: string,
  value: number | undefined,
  old: number | undefined,
): void {
  if (old !== undefined && (value ?? -1) < old) out.push(invalid(path, value ?? 0, 'cannot be decremented'));
}

export function validatePositive(out: FieldError[], path: string, value: number | undefined): void {
  if (value !== undefined && value <= 0) out.push(invalid(path, value, NOT_POSITIVE_TEXT));
}

/** Accepts a non-negative integer or percentage. */
export function validateNonNegativeIntOrPercent(out: FieldError[], path: string, value: number | string): void {
  if (typeof value === 'number') return validateNonNegative(out, path, value);
  for (const message of percentErrors(value)) out.push(invalid(path, goIntOrString(value), message));
}

export function validateNotMoreThan100Percent(out: FieldError[], path: string, value: number | string): void {
  const percent = percentOf(value);
  if (percent !== undefined && percent > 100) {
    out.push(invalid(path, goIntOrString(value), 'must not be greater than 100%'));
  }
}

/** `25%` -> 25; `undefined` when the value is not a percentage. */
export function percentOf(value: number | string | undefined): number | undefined {
  if (typeof value !== 'string' || percentErrors(value).length > 0) return undefined;
  return Number(value.slice(0, -1));
}

/** Returns a number, also from text, or the number before the percent sign; 0 for anything else. */
export function intOrPercentValue(value: number | string): number {
  if (typeof value === 'number') return value;
  return percentOf(value) ?? (/^[+-]?\d+$/.test(value) ? Number(value) : 0);
}
