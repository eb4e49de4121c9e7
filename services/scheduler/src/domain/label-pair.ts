import type { LabelSelectorMatcher } from '@holdfast/machinery';
import type { PodInfo } from './pod-info.ts';

/** The key of entries that require no particular label. */
const ANY_LABEL = '';

const textOf = (key: string, value: string): string => `${key}=${value}`;

/** Returns a label that every match must have. An index by it checks only possible matches. */
export function pairOf({ exactPairs }: LabelSelectorMatcher): string {
  const [first] = exactPairs;
  return first === undefined ? ANY_LABEL : textOf(...first);
}

/** Yields the index keys under which entries for a pod may be found. */
export function* pairsOf({ labels }: Pick<PodInfo, 'labels'>): Iterable<string> {
  yield ANY_LABEL;
  for (const key in labels) yield textOf(key, labels[key] ?? '');
}
