import type { LabelSelectorMatcher } from '@holdfast/machinery';
import type { PodInfo } from './pod-info.ts';

/** Where things are found that ask for no label in particular. */
const ANY_LABEL = '';

const textOf = (key: string, value: string): string => `${key}=${value}`;

/** A label that everybody has whom the selector matches. An index by it asks only those who may match. */
export function pairOf({ exactPairs }: LabelSelectorMatcher): string {
  const [first] = exactPairs;
  return first === undefined ? ANY_LABEL : textOf(...first);
}

/** Where a pod may be meant. */
export function* pairsOf({ labels }: Pick<PodInfo, 'labels'>): Iterable<string> {
  yield ANY_LABEL;
  for (const key in labels) yield textOf(key, labels[key] ?? '');
}
