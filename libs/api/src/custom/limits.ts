/** Limits on the work of schemas and patterns of custom resources. */

/** Checks (values times schemas) for one object, and what else takes as long: about a second. Normal objects need some thousands. */
export const CHECKS_MAX = 2_000_000;
/** Steps of matching patterns, one instruction for one character each, that take as long as a check. */
export const MATCH_STEPS_PER_CHECK = 16;

/** Characters of a text or of a path that are read in the time of a check: some are counted one by one. */
export const CHARS_PER_CHECK = 32;
/**
 * Size of the defaults that are copied into one object: the characters of their JSON, and 16 for each value. It is more
 * than an object that can be stored has.
 */
export const DEFAULTS_SIZE_MAX = 4 * 1024 * 1024;
/** Characters that a value takes in memory and time, however short it is. */
export const CHARS_PER_DEFAULT_VALUE = 16;

/** Characters of a pattern in a schema: compile time grows with the square of the length. */
export const PATTERN_CHARS_MAX = 4_096;
/** Instructions of a compiled pattern: repeats are expanded, so a short pattern may have a million. Real ones have hundreds. */
export const PATTERN_INSTRUCTIONS_MAX = 10_000;
/** Work of compiling one pattern: its characters and instructions, which take some microseconds each, and the ranges of its classes. */
export const PATTERN_WEIGHT_MAX = 75_000;
/** The same of all patterns of one definition: they are compiled when it is written, in less than a second. */
export const PATTERN_WEIGHT_TOTAL_MAX = 200_000;
/** Ranges that weigh as much as an instruction. Those of a class that is repeated are copied into each repetition. */
export const RANGES_PER_WEIGHT = 30;
/** Ranges of a class of Unicode: `\pL` has so many. */
export const NAMED_CLASS_RANGES = 650;
/** A class of many ranges (`\pL`) takes as long as so many instructions, and more when it ignores case. */
export const WIDE_CLASS_WEIGHT = 100;
export const FOLDED_CLASS_WEIGHT = 1_000;
/** JavaScript's own engine takes so many steps in the time of one step of the other. */
export const PLAIN_STEPS_AT_ONCE = 8;
/** Compiled patterns that are kept, and their weight: it takes up to 400 bytes. */
export const PATTERNS_KEPT_MAX = 4_096;
export const PATTERN_WEIGHT_KEPT_MAX = 500_000;
/**
 * Bytes of the tables of a pattern, and for each of its instructions. Patterns with larger tables, which are built while
 * texts are matched, are matched without them: slower, and without keeping anything.
 */
export const TABLE_BYTES_MIN = 32 * 1024;
export const TABLE_BYTES_PER_INSTRUCTION = 256;
