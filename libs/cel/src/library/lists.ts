import { compare, equals } from '../equality.ts';
import { VISITS_ELEMENTS } from '../estimates.ts';
import type { Meter } from '../meter.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { BOOL, BYTES, type CelType, DOUBLE, DURATION, INT, listOf, param, STRING, TIMESTAMP, UINT } from '../types.ts';
import { type CelValue, Duration, EvaluationError, itemsOf, type ListValue, sizeOf, Uint } from '../values.ts';
import { checkedDuration, checkedInt, checkedUint } from './ranges.ts';

const table = new FunctionTable();

const SUMMABLE: readonly (readonly [string, CelType, CelValue])[] = [
  ['int', INT, 0n],
  ['uint', UINT, new Uint(0n)],
  ['double', DOUBLE, 0],
  ['duration', DURATION, new Duration(0n)],
];
const ORDERED: readonly (readonly [string, CelType])[] = [
  ['int', INT],
  ['uint', UINT],
  ['double', DOUBLE],
  ['bool', BOOL],
  ['duration', DURATION],
  ['timestamp', TIMESTAMP],
  ['string', STRING],
  ['bytes', BYTES],
];

for (const [name, type, zero] of SUMMABLE) {
  table.member(
    'sum',
    `list_${name}_sum_${name}`,
    signature([listOf(type)], type),
    ([list]) => sum(list as ListValue, zero),
    VISITS_ELEMENTS,
  );
}
for (const [name, type] of ORDERED) {
  table
    .member(
      'isSorted',
      `list_${name}_is_sorted_bool`,
      signature([listOf(type)], BOOL),
      ([list], { meter }) => isSorted(list as ListValue, meter),
      VISITS_ELEMENTS,
    )
    .member(
      'min',
      `list_${name}_min_${name}`,
      signature([listOf(type)], type),
      ([list], { meter }) => extreme('min', list as ListValue, meter),
      VISITS_ELEMENTS,
    )
    .member(
      'max',
      `list_${name}_max_${name}`,
      signature([listOf(type)], type),
      ([list], { meter }) => extreme('max', list as ListValue, meter),
      VISITS_ELEMENTS,
    );
}
const A = param('A');
table
  .member(
    'indexOf',
    'list_a_index_of_int',
    signature([listOf(A), A], INT),
    ([list, item], { meter }) => indexOf(list as ListValue, item ?? null, meter),
    VISITS_ELEMENTS,
  )
  .member(
    'lastIndexOf',
    'list_a_last_index_of_int',
    signature([listOf(A), A], INT),
    ([list, item], { meter }) => lastIndexOf(list as ListValue, item ?? null, meter),
    VISITS_ELEMENTS,
  );

function sum(list: ListValue, zero: CelValue): CelValue {
  let total = zero;
  for (const item of itemsOf(list)) total = plus(total, item);
  return total;
}

function plus(left: CelValue, right: CelValue): CelValue {
  if (typeof left === 'bigint' && typeof right === 'bigint') return checkedInt(left + right);
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof Uint && right instanceof Uint) return new Uint(checkedUint(left.value + right.value));
  if (left instanceof Duration && right instanceof Duration) return checkedDuration(left.nanos + right.nanos);
  throw new EvaluationError('no such overload');
}

function isSorted(list: ListValue, meter: Meter): boolean {
  for (let index = 1; index < list.size; index += 1) {
    const item = list.at(index);
    meter.text(sizeOf(item));
    if (compare(list.at(index - 1), item) > 0) return false;
  }
  return true;
}

function extreme(name: 'min' | 'max', list: ListValue, meter: Meter): CelValue {
  if (list.size === 0) throw new EvaluationError(`${name} called on empty list`);
  let best = list.at(0);
  for (const item of itemsOf(list)) {
    meter.text(sizeOf(item));
    const order = compare(item, best);
    if (name === 'min' ? order < 0 : order > 0) best = item;
  }
  return best;
}

function indexOf(list: ListValue, item: CelValue, meter: Meter): bigint {
  for (let index = 0; index < list.size; index += 1) {
    if (equals(list.at(index), item, meter)) return BigInt(index);
  }
  return -1n;
}

function lastIndexOf(list: ListValue, item: CelValue, meter: Meter): bigint {
  for (let index = list.size - 1; index >= 0; index -= 1) {
    if (equals(list.at(index), item, meter)) return BigInt(index);
  }
  return -1n;
}

export const LISTS: Functions = table.build();
