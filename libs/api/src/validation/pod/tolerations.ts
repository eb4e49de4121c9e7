import { type FieldError, invalid, notSupported, required } from '@holdfast/machinery';
import type { Toleration } from '../../generated/types.ts';
import { labelValueErrors } from '../formats.ts';
import { validateLabelName } from '../labels.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function validateTaintEffect(out: FieldError[], path: string, effect: string | undefined): void {
  if (!effect) out.push(required(path));
  else if (!EFFECTS.includes(effect)) out.push(notSupported(path, effect, EFFECTS));
}

export function validateTolerations(out: FieldError[], path: string, tolerations: readonly Toleration[]): void {
  for (const [i, toleration] of tolerations.entries()) {
    const at = `${path}[${i}]`;
    const { key = '', effect = '', operator = '' } = toleration;
    if (key !== '') validateLabelName(out, `${at}.key`, key);
    else if (operator !== 'Exists') {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      out.push(invalid(`${at}.operator`, operator, detail));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      out.push(invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    validateOperator(out, `${at}.operator`, toleration);
    if (effect !== '') validateTaintEffect(out, `${at}.effect`, effect);
  }
}

/** No operator means Equal. */
function validateOperator(out: FieldError[], path: string, toleration: Readonly<Toleration>): void {
  const { operator = '', value = '' } = toleration;
  if (operator === 'Equal' || operator === '') {
    const errors = labelValueErrors(value);
    if (errors.length > 0) out.push(invalid(path, value, errors.join(';')));
  } else if (operator === 'Exists') {
    if (value === '') return;
    out.push(invalid(path, value, "value must be empty when `operator` is 'Exists'"));
  } else out.push(notSupported(path, operator, ['Equal', 'Exists']));
}
