import type { Toleration } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';

/** Removes those that another one covers; of equal ones the first stays. */
export function mergeTolerations(all: readonly Toleration[]): readonly Toleration[] {
  const merged: Toleration[] = [];
  for (const [i, toleration] of all.entries()) {
    if (merged.some((kept) => covers(kept, toleration))) continue;
    if (all.slice(i + 1).some((later) => !deepEqual(later, toleration) && covers(later, toleration))) continue;
    merged.push(structuredClone(toleration));
  }
  return merged;
}

function covers(wide: Toleration, narrow: Toleration): boolean {
  if (deepEqual(wide, narrow)) return true;
  const anyKey = !wide.key && wide.operator === 'Exists';
  if (!anyKey && (wide.key ?? '') !== (narrow.key ?? '')) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  }
  if (wide.operator === 'Exists') return true;
  return (narrow.operator ?? 'Equal') === 'Equal' && (narrow.value ?? '') === (wide.value ?? '');
}
