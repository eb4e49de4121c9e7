import type { Taint, Toleration } from '../generated/types.ts';

/** An absent effect or key of a toleration matches every one; an absent operator is `Equal`, an unknown one matches nothing. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { effect = '', key = '', operator = '', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator === '' || operator === 'Equal') && key !== '' && value === (taint.value ?? '');
}

/** Whether one of the tolerations covers the taint. */
export const isTolerated = (taint: Taint, tolerations: readonly Toleration[] | undefined): boolean =>
  (tolerations ?? []).some((toleration) => tolerates(toleration, taint));

/** The first taint with one of the effects that nothing tolerates. */
export const firstUntolerated = (
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  effects: readonly string[],
): Taint | undefined => taints.find((taint) => effects.includes(taint.effect) && !isTolerated(taint, tolerations));

/** Taints that keep a pod away before it runs. */
export const HARD_EFFECTS: readonly string[] = ['NoSchedule', 'NoExecute'];
