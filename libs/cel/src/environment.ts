import type { Functions } from './overload.ts';
import type { CelType } from './types.ts';

/** What an expression may name. */
export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>;
  readonly functions: Functions;
  /** Types as values, by their qualified names. */
  readonly typeNames: ReadonlyMap<string, CelType>;
  /** Literal lists and maps of mixed types are refused, as Kubernetes does. */
  readonly homogeneousLiterals: boolean;
}
