import { duplicate, type FieldError, invalid, notSupported, required, tooLong } from '@holdfast/machinery';
import type { Condition } from '../generated/types.ts';
import { byteLength, regexText } from './formats.ts';
import { validateLabelName } from './labels.ts';

const STATUSES = ['False', 'True', 'Unknown'];
const REASON_BYTES_MAX = 1024;
const MESSAGE_BYTES_MAX = 32 * 1024;
const REASON = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const REASON_WRONG = regexText(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  REASON,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
);

/** Validates conditions of the common type of newer kinds. */
export function validateConditions(out: FieldError[], path: string, conditions: readonly Condition[] = []): void {
  const types = new Set<string>();
  for (const [i, condition] of conditions.entries()) {
    const type = condition.type ?? '';
    if (types.has(type)) out.push(duplicate(`${path}[${i}].type`, type));
    types.add(type);
    validateCondition(out, `${path}[${i}]`, condition);
  }
}

function validateCondition(out: FieldError[], path: string, condition: Readonly<Condition>): void {
  const { type, status, observedGeneration = 0 } = condition;
  const [reason, message] = [condition.reason ?? '', condition.message ?? ''];
  validateLabelName(out, `${path}.type`, type ?? '');
  if (!STATUSES.includes(status ?? '')) out.push(notSupported(`${path}.status`, status ?? '', STATUSES));
  if (observedGeneration < 0) {
    const detail = 'must be greater than or equal to zero';
    out.push(invalid(`${path}.observedGeneration`, observedGeneration, detail));
  }
  if (!condition.lastTransitionTime) out.push(required(`${path}.lastTransitionTime`, 'must be set'));
  if (reason === '') out.push(required(`${path}.reason`, 'must be set'));
  else {
    if (!new RegExp(`^${REASON}$`).test(reason)) out.push(invalid(`${path}.reason`, reason, REASON_WRONG));
    if (byteLength(reason) > REASON_BYTES_MAX) out.push(tooLong(`${path}.reason`, REASON_BYTES_MAX));
  }
  if (byteLength(message) > MESSAGE_BYTES_MAX) out.push(tooLong(`${path}.message`, MESSAGE_BYTES_MAX));
}

/** Validates only the type of conditions. */
export function validateTypedConditions(
  out: FieldError[],
  path: string,
  conditions: readonly { readonly type?: string }[] = [],
): void {
  const types = new Set<string>();
  for (const [i, { type = '' }] of conditions.entries()) {
    if (types.has(type)) out.push(duplicate(`${path}[${i}].type`, type));
    types.add(type);
    if (type === '') out.push(required(`${path}[${i}].type`, 'must not be empty'));
  }
}
