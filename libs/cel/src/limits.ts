/** Limits on the work of an expression. The cost limits are those of Kubernetes 1.32. */

/** Characters of one expression. Kubernetes limits them only through the size of the object. */
export const MAX_EXPRESSION_CHARS = 100_000;
export const MAX_AST_NODES = 20_000;
/** Nesting depth. Kubernetes' parser has the same limit. */
export const MAX_DEPTH = 250;

/** Cost of one evaluation of one expression. */
export const PER_CALL_LIMIT = 1_000_000;
/** Cost of all rules of one object in one request. */
export const RUNTIME_COST_BUDGET = 10_000_000;
/** Estimated cost of one rule, times its maximum number of runs. */
export const STATIC_COST_LIMIT = 10_000_000;
/** Estimated cost of all rules of one definition. */
export const STATIC_TOTAL_COST_LIMIT = 100_000_000;

/** The evaluation checks its deadline after this much cost. */
export const COST_BETWEEN_CHECKS = 5_000;

/**
 * Steps of one evaluation. Kubernetes charges some functions by the size of the outer value alone, or after their work; a
 * step is one visited value or a few characters. So many take some tenths of a second, and expressions whose cost
 * tells their work reach their cost limit first.
 */
export const MAX_WORK_STEPS = 5_000_000;
/** The evaluation checks its deadline after so many steps: about a millisecond. */
export const WORK_STEPS_BETWEEN_CHECKS = 20_000;
/** Characters that a function reads or writes in one step: the slow ones take some nanoseconds for each. */
export const CHARS_PER_STEP = 8;
/** Comparing texts for equality is faster. */
export const COMPARED_CHARS_PER_STEP = 64;
/** Steps for each item of two lists without order that are compared or merged: a text is made of each key. */
export const STEPS_PER_MERGED_ITEM = 8;
/** Keys of a map that are listed in one step before a macro visits them. */
export const LISTED_KEYS_PER_STEP = 8;
/** Items of a list that `+` makes: `a + a` has cost 1, so that a few of them in a row would make a list of any size. */
export const MAX_LIST_ITEMS = 1_000_000;
/** Joined lists inside one another: the position of each item is looked up through all of them. */
export const MAX_LIST_JOINS = 64;
/** Characters of a text that a function makes: `+` cannot make longer ones within its cost limit. */
export const MAX_TEXT_CHARS = 10_000_000;

/** Characters of a pattern. Its instructions are limited as those of schemas are. */
export const MAX_PATTERN_CHARS = 10_000;
/**
 * Weight of all patterns that the expressions of one policy or of the conditions of one webhook name: they are compiled when
 * it is written, in some tenths of a second. Rules have the room of their definition.
 */
export const MAX_PATTERNS_WEIGHT = 100_000;
/** Steps of compiling a pattern of weight 1, which takes some microseconds. */
export const PATTERN_STEPS_PER_WEIGHT = 64;
/** Steps of matching, one instruction for one character each, that take as long as another step. */
export const MATCH_STEPS_PER_STEP = 4;

/** Digits after the point that `format` writes. */
export const MAX_PRECISION = 1_000;

/** Cost of each kind of step. */
export const SELECT_AND_IDENT_COST = 1;
export const LIST_CREATE_COST = 10;
export const MAP_CREATE_COST = 30;
export const STRING_TRAVERSAL_FACTOR = 0.1;
export const REGEX_LENGTH_FACTOR = 0.25;
