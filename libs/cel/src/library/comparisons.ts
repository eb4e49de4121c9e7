import { compare, equals } from '../equality.ts';
import { COMPARES, SEARCHES_LIST } from '../estimates.ts';
import { type Functions, FunctionTable, type RunContext, signature } from '../overload.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  optionalOf,
  param,
  STRING,
  TIMESTAMP,
  UINT,
} from '../types.ts';
import {
  type CelValue,
  EvaluationError,
  isList,
  isMap,
  itemsOf,
  type ListValue,
  type MapValue,
  OptionalValue,
  typeNameOf,
  Uint,
} from '../values.ts';

const table = new FunctionTable();
const A = param('A');
const B = param('B');

const ORDER: readonly (readonly [string, string, (order: number) => boolean])[] = [
  ['_<_', 'less', (order) => order < 0],
  ['_<=_', 'less_equals', (order) => order <= 0],
  ['_>_', 'greater', (order) => order > 0],
  ['_>=_', 'greater_equals', (order) => order >= 0],
];
const NUMBERS: readonly (readonly [string, CelType])[] = [
  ['int64', INT],
  ['uint64', UINT],
  ['double', DOUBLE],
];
const SAME_KIND: readonly (readonly [string, CelType])[] = [
  ['bool', BOOL],
  ['timestamp', TIMESTAMP],
  ['duration', DURATION],
];

for (const [name, id, holds] of ORDER) {
  const run = ([a, b]: readonly CelValue[]): boolean => holds(compare(a ?? null, b ?? null));
  for (const [left, type] of NUMBERS) {
    for (const [right, other] of NUMBERS) {
      const suffix = left === right ? left : `${left}_${right}`;
      table.global(name, `${id}_${suffix}`, signature([type, other], BOOL), run);
    }
  }
  for (const [kind, type] of SAME_KIND) table.global(name, `${id}_${kind}`, signature([type, type], BOOL), run);
  table.global(name, `${id}_string`, signature([STRING, STRING], BOOL), run, COMPARES);
  table.global(name, `${id}_bytes`, signature([BYTES, BYTES], BOOL), run, COMPARES);
}

table
  .global('_==_', 'equals', signature([A, A], BOOL), isEqual, COMPARES)
  .global('_!=_', 'not_equals', signature([A, A], BOOL), (args, context) => !isEqual(args, context), COMPARES)
  .global('@in', 'in_list', signature([A, listOf(A)], BOOL), contains, SEARCHES_LIST)
  .global('@in', 'in_map', signature([A, mapOf(A, B)], BOOL), contains)
  .global('!_', 'logical_not', signature([BOOL], BOOL), ([a]) => a !== true)
  .global('_[_]', 'index_list', signature([listOf(A), INT], A), indexed)
  .global('_[_]', 'index_map', signature([mapOf(A, B), A], B), indexed)
  .global('_[_]', 'optional_list_index', signature([optionalOf(listOf(A)), INT], optionalOf(A)), optionalIndex)
  .global('_[_]', 'optional_map_index', signature([optionalOf(mapOf(A, B)), A], optionalOf(B)), optionalIndex)
  .global('_[?_]', 'list_optindex', signature([listOf(A), INT], optionalOf(A)), optionalIndex)
  .global('_[?_]', 'map_optindex', signature([mapOf(A, B), A], optionalOf(B)), optionalIndex)
  .global('_[?_]', 'optional_list_optindex', signature([optionalOf(listOf(A)), INT], optionalOf(A)), optionalIndex)
  .global('_[?_]', 'optional_map_optindex', signature([optionalOf(mapOf(A, B)), A], optionalOf(B)), optionalIndex)
  .global('dyn', 'to_dyn', signature([A], DYN), ([a]) => a ?? null);

function isEqual([a, b]: readonly CelValue[], { meter }: RunContext): boolean {
  return equals(a ?? null, b ?? null, meter);
}

function contains([value, container]: readonly CelValue[], { meter }: RunContext): boolean {
  const found = container ?? null;
  if (isMap(found)) return found.get(value ?? null) !== undefined;
  if (!isList(found)) throw new EvaluationError('no such overload');
  for (const item of itemsOf(found)) {
    if (equals(item, value ?? null, meter)) return true;
  }
  return false;
}

/** Returns the index of an element; `undefined` when the value is not an integer. */
function position(index: CelValue): number | undefined {
  if (typeof index === 'bigint') return Number(index);
  if (index instanceof Uint) return Number(index.value);
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined;
}

function element(list: ListValue, index: CelValue): CelValue {
  const place = position(index);
  if (place === undefined) throw new EvaluationError(`unsupported index type '${typeNameOf(index)}'`);
  if (place < 0 || place >= list.size) throw new EvaluationError(`index out of bounds: ${place}`);
  return list.at(place);
}

/** Implements `list[index]` and `map[key]`, also on optional containers. */
export function indexed([container, key]: readonly CelValue[]): CelValue {
  const target = container ?? null;
  if (isList(target)) return element(target, key ?? null);
  if (isMap(target)) return entry(target, key ?? null);
  if (target instanceof OptionalValue) return optionalIndex([target, key ?? null]);
  throw new EvaluationError('no such overload');
}

function entry(map: MapValue, key: CelValue): CelValue {
  const value = map.get(key);
  if (value === undefined) throw new EvaluationError(`no such key: ${keyText(key)}`);
  return value;
}

export function keyText(key: CelValue): string {
  if (key instanceof Uint) return String(key.value);
  return typeof key === 'object' ? typeNameOf(key) : String(key);
}

function optionalIndex([container, key]: readonly CelValue[]): CelValue {
  const target = container instanceof OptionalValue ? container.value : (container ?? null);
  if (target === undefined) return OptionalValue.none;
  if (isMap(target)) return optional(target.get(key ?? null));
  if (!isList(target)) throw new EvaluationError('no such overload');
  const place = position(key ?? null);
  return place === undefined || place < 0 || place >= target.size ? OptionalValue.none : optional(target.at(place));
}

function optional(value: CelValue | undefined): OptionalValue {
  return value === undefined ? OptionalValue.none : new OptionalValue(value);
}

export const COMPARISONS: Functions = table.build();
