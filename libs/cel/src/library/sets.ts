import { equals } from '../equality.ts';
import type { Costs } from '../estimates.ts';
import type { Meter } from '../meter.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { add, fixed, multiply, UNKNOWN_SIZE } from '../size.ts';
import { BOOL, listOf, param } from '../types.ts';
import { type CelValue, itemsOf, type ListValue, sizeOf } from '../values.ts';

const A = param('A');
const TWO_LISTS = signature([listOf(A), listOf(A)], BOOL);

/** Compares each element of one list with each of the other; `times` is 2 when both directions are checked. */
function pairwise(times: number): Costs {
  return {
    cost: (args) => 1 + sizeOf(args[0] ?? null) * sizeOf(args[1] ?? null) * times,
    estimate: (args) => ({
      cost: add(
        fixed(1),
        multiply(multiply(args[0]?.size ?? UNKNOWN_SIZE, args[1]?.size ?? UNKNOWN_SIZE), fixed(times)),
      ),
    }),
  };
}

function has(list: ListValue, item: CelValue, meter: Meter): boolean {
  for (const each of itemsOf(list)) {
    if (equals(each, item, meter)) return true;
  }
  return false;
}

function containsAll(list: ListValue, items: ListValue, meter: Meter): boolean {
  for (const item of itemsOf(items)) {
    if (!has(list, item, meter)) return false;
  }
  return true;
}

function intersects(left: ListValue, right: ListValue, meter: Meter): boolean {
  for (const item of itemsOf(left)) {
    if (has(right, item, meter)) return true;
  }
  return false;
}

export const SETS: Functions = new FunctionTable()
  .global(
    'sets.contains',
    'list_sets_contains_list',
    TWO_LISTS,
    ([a, b], { meter }) => containsAll(a as ListValue, b as ListValue, meter),
    pairwise(1),
  )
  .global(
    'sets.intersects',
    'list_sets_intersects_list',
    TWO_LISTS,
    ([a, b], { meter }) => intersects(a as ListValue, b as ListValue, meter),
    pairwise(1),
  )
  .global(
    'sets.equivalent',
    'list_sets_equivalent_list',
    TWO_LISTS,
    ([a, b], { meter }) =>
      containsAll(a as ListValue, b as ListValue, meter) && containsAll(b as ListValue, a as ListValue, meter),
    pairwise(2),
  )
  .build();
