import type { Taint, Toleration } from '../generated/types.ts';

/**
 * An absent effect or key of a toleration matches all; an absent operator means `Equal`; an unknown operator matches
 * nothing.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { effect = '', key = '', operator = '', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator === '' || operator === 'Equal') && key !== '' && value === (taint.value ?? '');
}

/** The toleration that counts for the taint: the first that covers it. */
export const tolerationOf = (taint: Taint, tolerations: readonly Toleration[] | undefined): Toleration | undefined =>
  (tolerations ?? []).find((toleration) => tolerates(toleration, taint));

/** True when one of the tolerations covers the taint. */
export const isTolerated = (taint: Taint, tolerations: readonly Toleration[] | undefined): boolean =>
  tolerationOf(taint, tolerations) !== undefined;

/** Returns the first untolerated taint with one of the effects. */
export const firstUntolerated = (
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  effects: readonly string[],
): Taint | undefined => taints.find((taint) => effects.includes(taint.effect) && !isTolerated(taint, tolerations));

/** Effects that keep a pod from starting on a node. */
export const HARD_EFFECTS: readonly string[] = ['NoSchedule', 'NoExecute'];
