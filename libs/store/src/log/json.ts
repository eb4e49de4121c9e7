import { invariant } from '@holdfast/platform';

/** Reads values of unknown JSON. Each throws when the value has another type. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  invariant(typeof value === 'object' && value !== null, 'an object was expected');
  return Object.fromEntries(Object.entries(value));
}

export function list(value: unknown): readonly unknown[] {
  invariant(Array.isArray(value), 'a list was expected');
  return value;
}

export function integer(value: unknown): number {
  invariant(typeof value === 'number' && Number.isSafeInteger(value), 'an integer was expected');
  return value;
}

export function text(value: unknown): string {
  invariant(typeof value === 'string', 'a text was expected');
  return value;
}
