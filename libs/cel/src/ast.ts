import type { CelValue } from './values.ts';

interface Node {
  /** Unique within one expression. */
  readonly id: number;
  /** The position for messages: the operator, the dot or the bracket, otherwise the first character. */
  readonly offset: number;
}
export interface Literal extends Node {
  readonly op: 'literal';
  readonly value: CelValue;
}
export interface Ident extends Node {
  readonly op: 'ident';
  readonly name: string;
}
export interface Select extends Node {
  readonly op: 'select';
  readonly operand: Expr;
  readonly field: string;
  readonly mode: 'value' | 'has' | 'optional';
}
export interface Call extends Node {
  readonly op: 'call';
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}
export interface ListExpr extends Node {
  readonly op: 'list';
  readonly items: readonly Expr[];
  /** Positions of items that are left out when they have no value: `[?x]`. */
  readonly optional: ReadonlySet<number>;
}
export interface MapExpr extends Node {
  readonly op: 'map';
  readonly entries: readonly (readonly [Expr, Expr])[];
  /** Positions of entries that are left out when their value has none: `{?k: v}`. */
  readonly optional: ReadonlySet<number>;
}
export type FoldKind = 'all' | 'exists' | 'existsOne' | 'list' | 'map';
/** A macro over a list or map: `all`, `exists`, `exists_one`, `map`, `filter`, `transformList`, `transformMap`. */
export interface Fold extends Node {
  readonly op: 'fold';
  readonly fold: FoldKind;
  readonly range: Expr;
  /** One variable (element or key), or two (index or key, value). */
  readonly variables: readonly string[];
  readonly condition: Expr | undefined;
  readonly transform: Expr | undefined;
}
/** `x.optMap(v, e)` and `x.optFlatMap(v, e)`. */
export interface OptionalMap extends Node {
  readonly op: 'optMap';
  readonly target: Expr;
  readonly variable: string;
  readonly body: Expr;
  readonly flat: boolean;
}
export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | Fold | OptionalMap;

/** The function names of the operators. Messages show them. */
export const AND = '_&&_';
export const OR = '_||_';
export const NOT = '!_';
export const NEGATE = '-_';
export const CONDITIONAL = '_?_:_';
export const INDEX = '_[_]';
export const OPTIONAL_INDEX = '_[?_]';
export const EQUALS = '_==_';
export const NOT_EQUALS = '_!=_';
export const IN = '@in';
