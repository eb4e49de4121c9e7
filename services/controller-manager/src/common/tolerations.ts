import type { Taint, Toleration } from '@holdfast/api';

/** An absent effect or key of a toleration matches every one; the operator is `Equal` unless it says `Exists`. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { effect = '', key = '', operator = 'Equal', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && operator === 'Equal' && value === (taint.value ?? ''));
}
