import { GO_INT_END } from '../../validation/numbers.ts';

/** Sets of indexes as text: `1,3-5`. A function that returns a string returns an error in the words of Kubernetes. */
export interface Interval {
  readonly first: number;
  readonly last: number;
}

/** `1,3-5` -> 4 */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let total = 0;
  let previous: number | undefined;
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions);
    if (typeof interval === 'string') return interval;
    const { first, last } = interval;
    if (previous !== undefined && previous >= first) return notIncreasing(previous, first);
    total += last - first + 1;
    previous = last;
  }
  return total;
}

const notIncreasing = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`;

function parseInterval(text: string, completions: number): Interval | string {
  const ends = text.split('-');
  if (ends.length > 2) {
    return `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  const numbers: number[] = [];
  for (const end of ends) {
    if (!/^\+?\d+$/.test(end) || Number(end) >= GO_INT_END)
      return `cannot convert string to integer for index: ${JSON.stringify(end)}`;
    if (Number(end) >= completions) return `too large index: ${JSON.stringify(end)}`;
    numbers.push(Number(end));
  }
  const [first = 0, last] = numbers;
  if (last === undefined) return { first, last: first };
  return first >= last ? notIncreasing(first, last) : { first, last };
}

/** Returns the first index in both sets. Other checks report unreadable sets. */
export function firstOverlap(one: string, other: string, completions: number): number | undefined {
  const [left, right] = [readable(one, completions), readable(other, completions)];
  let [i, j] = [0, 0];
  for (;;) {
    const [a, b] = [left[i], right[j]];
    if (a === undefined || b === undefined) return undefined;
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
    if (a.first <= b.first) i++;
    else j++;
  }
}

const readable = (text: string, completions: number): readonly Interval[] =>
  text
    .split(',')
    .map((part) => parseInterval(part, completions))
    .filter((interval) => typeof interval !== 'string');
