import { JOINS_LISTS, JOINS_TEXT } from '../estimates.ts';
import { MAX_LIST_JOINS } from '../limits.ts';
import { type Functions, FunctionTable, type Overload, type RunContext, signature } from '../overload.ts';
import { BYTES, type CelType, DOUBLE, DURATION, INT, listOf, param, STRING, TIMESTAMP, UINT } from '../types.ts';
import {
  ArrayList,
  type CelValue,
  Duration,
  EvaluationError,
  itemsOf,
  JoinedList,
  type ListValue,
  Timestamp,
  Uint,
} from '../values.ts';
import { checkedDuration, checkedInt, checkedTimestamp, checkedUint } from './ranges.ts';

const table = new FunctionTable();
type Run = Overload['run'];

function operator(name: string, id: string, types: readonly [CelType, CelType, CelType], run: Run): void {
  table.global(name, id, signature(types.slice(0, 2), types[2]), run);
}

const ints = (combine: (a: bigint, b: bigint) => bigint): Run => {
  return ([a, b]) => checkedInt(combine(a as bigint, b as bigint));
};
const uints = (combine: (a: bigint, b: bigint) => bigint): Run => {
  return ([a, b]) => new Uint(checkedUint(combine((a as Uint).value, (b as Uint).value)));
};
const doubles = (combine: (a: number, b: number) => number): Run => {
  return ([a, b]) => combine(a as number, b as number);
};

function quotient(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new EvaluationError('division by zero');
  return a / b;
}
function remainder(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new EvaluationError('modulus by zero');
  return a % b;
}

operator(
  '_+_',
  'add_int64',
  [INT, INT, INT],
  ints((a, b) => a + b),
);
operator(
  '_+_',
  'add_uint64',
  [UINT, UINT, UINT],
  uints((a, b) => a + b),
);
operator(
  '_+_',
  'add_double',
  [DOUBLE, DOUBLE, DOUBLE],
  doubles((a, b) => a + b),
);
operator(
  '_-_',
  'subtract_int64',
  [INT, INT, INT],
  ints((a, b) => a - b),
);
operator(
  '_-_',
  'subtract_uint64',
  [UINT, UINT, UINT],
  uints((a, b) => a - b),
);
operator(
  '_-_',
  'subtract_double',
  [DOUBLE, DOUBLE, DOUBLE],
  doubles((a, b) => a - b),
);
operator(
  '_*_',
  'multiply_int64',
  [INT, INT, INT],
  ints((a, b) => a * b),
);
operator(
  '_*_',
  'multiply_uint64',
  [UINT, UINT, UINT],
  uints((a, b) => a * b),
);
operator(
  '_*_',
  'multiply_double',
  [DOUBLE, DOUBLE, DOUBLE],
  doubles((a, b) => a * b),
);
operator('_/_', 'divide_int64', [INT, INT, INT], ints(quotient));
operator('_/_', 'divide_uint64', [UINT, UINT, UINT], uints(quotient));
operator(
  '_/_',
  'divide_double',
  [DOUBLE, DOUBLE, DOUBLE],
  doubles((a, b) => a / b),
);
operator('_%_', 'modulo_int64', [INT, INT, INT], ints(remainder));
operator('_%_', 'modulo_uint64', [UINT, UINT, UINT], uints(remainder));

table
  .global('-_', 'negate_int64', signature([INT], INT), ([a]) => checkedInt(-(a as bigint)))
  .global('-_', 'negate_double', signature([DOUBLE], DOUBLE), ([a]) => -(a as number))
  .global(
    '_+_',
    'add_string',
    signature([STRING, STRING], STRING),
    ([a, b]) => `${a as string}${b as string}`,
    JOINS_TEXT,
  )
  .global(
    '_+_',
    'add_bytes',
    signature([BYTES, BYTES], BYTES),
    ([a, b]) => joinBytes(a as Uint8Array, b as Uint8Array),
    JOINS_TEXT,
  )
  .global(
    '_+_',
    'add_list',
    signature([listOf(param('A')), listOf(param('A'))], listOf(param('A'))),
    joinLists,
    JOINS_LISTS,
  );

operator('_+_', 'add_timestamp_duration', [TIMESTAMP, DURATION, TIMESTAMP], ([a, b]) =>
  checkedTimestamp((a as Timestamp).nanos + (b as Duration).nanos),
);
operator('_+_', 'add_duration_timestamp', [DURATION, TIMESTAMP, TIMESTAMP], ([a, b]) =>
  checkedTimestamp((a as Duration).nanos + (b as Timestamp).nanos),
);
operator('_+_', 'add_duration_duration', [DURATION, DURATION, DURATION], ([a, b]) =>
  checkedDuration((a as Duration).nanos + (b as Duration).nanos),
);
operator('_-_', 'subtract_timestamp_timestamp', [TIMESTAMP, TIMESTAMP, DURATION], ([a, b]) =>
  checkedDuration((a as Timestamp).nanos - (b as Timestamp).nanos),
);
operator('_-_', 'subtract_timestamp_duration', [TIMESTAMP, DURATION, TIMESTAMP], ([a, b]) =>
  checkedTimestamp((a as Timestamp).nanos - (b as Duration).nanos),
);
operator('_-_', 'subtract_duration_duration', [DURATION, DURATION, DURATION], ([a, b]) =>
  checkedDuration((a as Duration).nanos - (b as Duration).nanos),
);

function joinBytes(a: Uint8Array, b: Uint8Array): CelValue {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

function joinLists([a, b]: readonly CelValue[], { meter }: RunContext): CelValue {
  const left = a as ListValue;
  const right = b as ListValue;
  if (left.merge !== undefined) return left.merge.add(left, right, meter);
  if (left.size === 0) return right;
  if (right.size === 0) return left;
  meter.listSize(left.size + right.size);
  const joined = new JoinedList(left, right);
  if (joined.joins <= MAX_LIST_JOINS) return joined;
  meter.work(joined.size);
  return new ArrayList([...itemsOf(joined)]);
}

export const ARITHMETIC: Functions = table.build();
