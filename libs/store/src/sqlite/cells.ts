import { invariant } from '@holdfast/platform/invariant';
import type { ChangeKind } from '../port.ts';

export function isChangeKind(value: unknown): value is ChangeKind {
  return value === 'created' || value === 'updated' || value === 'deleted';
}

export function wholeNumber(value: unknown): number {
  invariant(typeof value === 'number' && Number.isSafeInteger(value), 'a column holds a whole number', { value });
  return value;
}
