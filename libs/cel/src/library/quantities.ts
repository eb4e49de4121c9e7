import { compareQuantities, formatQuantity, parseQuantity, type Quantity } from '@holdfast/machinery';
import { constantCost, traverses } from '../estimates.ts';
import { type Functions, FunctionTable, signature } from '../overload.ts';
import { BOOL, DOUBLE, INT, opaque, STRING } from '../types.ts';
import { EvaluationError, OpaqueValue } from '../values.ts';
import { checkedInt } from './ranges.ts';

export const QUANTITY = opaque('kubernetes.Quantity');
const NANO_PER_UNIT = 1_000_000_000n;

class QuantityValue extends OpaqueValue {
  readonly opaqueName = 'kubernetes.Quantity';
  readonly quantity: Quantity;
  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }
  override equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && this.quantity.nano === other.quantity.nano;
  }
  plus(nano: bigint): QuantityValue {
    return new QuantityValue({ ...this.quantity, nano: this.quantity.nano + nano });
  }
}

const nanoOf = (value: unknown): bigint => (value as QuantityValue).quantity.nano;
const unitsOf = (value: unknown): bigint => (value as bigint) * NANO_PER_UNIT;

function quantityOf(text: string): QuantityValue {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    throw new EvaluationError(error instanceof Error ? error.message : String(error));
  }
}

function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

function asInteger(nano: bigint): bigint {
  if (nano % NANO_PER_UNIT !== 0n) throw new EvaluationError('cannot convert value to integer');
  return checkedInt(nano / NANO_PER_UNIT);
}

const READS = traverses(0);
const ONE = constantCost(1);

export const QUANTITIES: Functions = new FunctionTable()
  .global(
    'quantity',
    'string_to_quantity',
    signature([STRING], QUANTITY),
    ([text]) => quantityOf(text as string),
    READS,
  )
  .global('isQuantity', 'is_quantity_string', signature([STRING], BOOL), ([text]) => isQuantity(text as string), READS)
  .global('string', 'quantity_to_string', signature([QUANTITY], STRING), ([a]) =>
    formatQuantity((a as QuantityValue).quantity),
  )
  .member(
    'sign',
    'quantity_sign',
    signature([QUANTITY], INT),
    ([a]) => (nanoOf(a) > 0n ? 1n : nanoOf(a) < 0n ? -1n : 0n),
    ONE,
  )
  .member(
    'isInteger',
    'quantity_is_integer',
    signature([QUANTITY], BOOL),
    ([a]) => nanoOf(a) % NANO_PER_UNIT === 0n,
    ONE,
  )
  .member('asInteger', 'quantity_as_integer', signature([QUANTITY], INT), ([a]) => asInteger(nanoOf(a)), ONE)
  .member(
    'asApproximateFloat',
    'quantity_get_float',
    signature([QUANTITY], DOUBLE),
    ([a]) => Number(nanoOf(a)) / Number(NANO_PER_UNIT),
    ONE,
  )
  .member(
    'isGreaterThan',
    'quantity_is_greater_than',
    signature([QUANTITY, QUANTITY], BOOL),
    ([a, b]) => nanoOf(a) > nanoOf(b),
    ONE,
  )
  .member(
    'isLessThan',
    'quantity_is_less_than',
    signature([QUANTITY, QUANTITY], BOOL),
    ([a, b]) => nanoOf(a) < nanoOf(b),
    ONE,
  )
  .member(
    'compareTo',
    'quantity_compare_to',
    signature([QUANTITY, QUANTITY], INT),
    ([a, b]) => BigInt(compareQuantities((a as QuantityValue).quantity, (b as QuantityValue).quantity)),
    ONE,
  )
  .member(
    'add',
    'quantity_add',
    signature([QUANTITY, QUANTITY], QUANTITY),
    ([a, b]) => (a as QuantityValue).plus(nanoOf(b)),
    ONE,
  )
  .member(
    'add',
    'quantity_add_int',
    signature([QUANTITY, INT], QUANTITY),
    ([a, b]) => (a as QuantityValue).plus(unitsOf(b)),
    ONE,
  )
  .member(
    'sub',
    'quantity_sub',
    signature([QUANTITY, QUANTITY], QUANTITY),
    ([a, b]) => (a as QuantityValue).plus(-nanoOf(b)),
    ONE,
  )
  .member(
    'sub',
    'quantity_sub_int',
    signature([QUANTITY, INT], QUANTITY),
    ([a, b]) => (a as QuantityValue).plus(-unitsOf(b)),
    ONE,
  )
  .build();
