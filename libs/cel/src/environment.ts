import type { PatternRoom } from '@holdfast/api';
import type { Functions } from './overload.ts';
import type { CelType } from './types.ts';

/** The names that an expression may use. */
export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>;
  readonly functions: Functions;
  /** Types as values, by qualified name. */
  readonly typeNames: ReadonlyMap<string, CelType>;
  /** Refuses literal lists and maps of mixed types, as Kubernetes does. */
  readonly homogeneousLiterals: boolean;
  /** The room for patterns in literals, shared by all expressions of the environment. */
  readonly patterns: PatternRoom;
}
