/** Bounds of what an expression may make the server do. The cost limits are those of Kubernetes 1.32. */

/** Characters of one expression. Kubernetes has no bound of its own; the object's size is one. */
export const MAX_EXPRESSION_CHARS = 100_000;
export const MAX_AST_NODES = 20_000;
/** Nesting: Kubernetes' parser stops at the same depth. */
export const MAX_DEPTH = 250;

/** Cost of one evaluation of one expression. */
export const PER_CALL_LIMIT = 1_000_000;
/** Cost of all rules of one object in one request. */
export const RUNTIME_COST_BUDGET = 10_000_000;
/** Estimated cost of one rule, counted for as often as it may run. */
export const STATIC_COST_LIMIT = 10_000_000;
/** Estimated cost of all rules of one definition. */
export const STATIC_TOTAL_COST_LIMIT = 100_000_000;

/** After so much cost the evaluation looks at its deadline. */
export const COST_BETWEEN_CHECKS = 5_000;

/** Patterns that are made at run time and kept compiled, for one program. */
export const MAX_KEPT_PATTERNS = 16;
/** Characters of a pattern. */
export const MAX_PATTERN_CHARS = 10_000;

/** Digits after the point that `format` writes. */
export const MAX_PRECISION = 1_000;

/** Costs by kind of step. */
export const SELECT_AND_IDENT_COST = 1;
export const LIST_CREATE_COST = 10;
export const MAP_CREATE_COST = 30;
export const STRING_TRAVERSAL_FACTOR = 0.1;
export const REGEX_LENGTH_FACTOR = 0.25;
/** Sum of the repeat counts of a pattern: each repeat is written out when the pattern is compiled. */
export const MAX_PATTERN_REPEATS = 10_000;
