import { type Functions, FunctionTable, signature } from '../overload.ts';
import { BOOL, param } from '../types.ts';

const A = param('A');
const TWO = signature([BOOL, BOOL], BOOL);

/** The compiler evaluates these lazily. This table only provides their signatures. */
const evaluatedLazily = (): never => {
  throw new Error('a lazy operator was called as a function');
};

export const LOGIC: Functions = new FunctionTable()
  .global('_&&_', 'logical_and', TWO, evaluatedLazily)
  .global('_||_', 'logical_or', TWO, evaluatedLazily)
  .global('_?_:_', 'conditional', signature([BOOL, A, A], A), evaluatedLazily)
  .build();
