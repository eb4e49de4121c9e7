import { type Functions, FunctionTable, signature } from '../overload.ts';
import { BOOL, optionalOf, param } from '../types.ts';
import { type CelValue, Duration, EvaluationError, isList, isMap, OptionalValue, Timestamp, Uint } from '../values.ts';

const A = param('A');

/** The compiler evaluates `or` and `orValue` lazily. This table provides their signatures. */
export const OPTIONALS: Functions = new FunctionTable()
  .global('optional.of', 'optional_of', signature([A], optionalOf(A)), ([a]) => new OptionalValue(a))
  .global('optional.none', 'optional_none', signature([], optionalOf(A)), () => OptionalValue.none)
  .global('optional.ofNonZeroValue', 'optional_ofNonZeroValue', signature([A], optionalOf(A)), ([a]) =>
    isZero(a ?? null) ? OptionalValue.none : new OptionalValue(a),
  )
  .member(
    'hasValue',
    'optional_hasValue',
    signature([optionalOf(A)], BOOL),
    ([a]) => (a as OptionalValue).value !== undefined,
  )
  .member('value', 'optional_value', signature([optionalOf(A)], A), ([a]) => valueOf(a as OptionalValue))
  .member('or', 'optional_or_optional', signature([optionalOf(A), optionalOf(A)], optionalOf(A)), ([a, b]) =>
    (a as OptionalValue).value === undefined ? (b ?? null) : (a ?? null),
  )
  .member('orValue', 'optional_orValue_value', signature([optionalOf(A), A], A), ([a, b]) =>
    (a as OptionalValue).value === undefined ? (b ?? null) : ((a as OptionalValue).value ?? null),
  )
  .build();

function valueOf({ value }: OptionalValue): CelValue {
  if (value === undefined) throw new EvaluationError('optional.none() dereference');
  return value;
}

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === '') return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.nanos === 0n;
  return (isList(value) || isMap(value)) && value.size === 0;
}
