import { type FieldError, invalid, isWhole } from '@holdfast/machinery';
import type { Limits } from './schema-node.ts';

interface Place {
  /** The field of the error. */
  readonly field: string;
  /** The name of the field in the message. */
  readonly path: string;
}

/** Kubernetes compares an integer with the integer part of a limit and prints that. */
export function numberErrors(value: number | bigint, limits: Limits, { field, path }: Place): readonly FieldError[] {
  const { multipleOf, minimum, maximum } = limits;
  if (multipleOf === undefined && minimum === undefined && maximum === undefined) return NONE;
  const errors: FieldError[] = [];
  const whole = isWhole(value) ? Math.trunc : (limit: number): number => limit;
  const refuse = (about: number | bigint, detail: string): void => {
    errors.push(invalid(field, about, detail));
  };
  if (multipleOf !== undefined) {
    const factor = whole(multipleOf);
    if (factor <= 0) refuse(factor, `factor MultipleOf declared for ${path} must be positive: ${goNumber(factor)}`);
    else if (!isMultiple(value, factor)) {
      refuse(value, `${path} in body should be a multiple of ${goNumber(factor)}`);
    }
  }
  if (maximum !== undefined) {
    const limit = whole(maximum);
    if (limits.exclusiveMaximum ? value >= limit : value > limit) {
      refuse(
        value,
        `${path} in body should be less than ${limits.exclusiveMaximum ? '' : 'or equal to '}${goNumber(limit)}`,
      );
    }
  }
  if (minimum !== undefined) {
    const limit = whole(minimum);
    if (limits.exclusiveMinimum ? value <= limit : value < limit) {
      const orEqual = limits.exclusiveMinimum ? '' : 'or equal to ';
      refuse(value, `${path} in body should be greater than ${orEqual}${goNumber(limit)}`);
    }
  }
  return errors;
}

const NONE: readonly FieldError[] = [];

function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint') return value % BigInt(factor) === 0n;
  const times = factor < 1 ? (1 / factor) * value : value / factor;
  return Number.isInteger(times) || Math.abs(times - Math.round(times)) < Math.abs(times) * Number.EPSILON;
}

/** Formats as Go does: integers in full, large fractions with an exponent of two digits. */
function goNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return BigInt(value).toString();
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2');
}
