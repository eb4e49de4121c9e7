/** Maximum nesting of a document. Our walkers recurse, so this also limits the stack. */
export const MAX_JSON_DEPTH = 1_000;
/** Operations in one JSON patch. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** Characters of one path in a JSON patch. The longest key of an annotation has 317. */
export const MAX_JSON_POINTER_CHARS = 64 * 1024;
/** Bytes that all `copy` operations of one JSON patch may add in total. */
export const MAX_JSON_PATCH_COPY_BYTES = 3 * 1024 * 1024;
/** Unknown and duplicate fields reported for one document. */
export const MAX_STRICT_ERRORS = 100;
/** Characters of a quantity. A longer text has no practical meaning. */
export const MAX_QUANTITY_CHARS = 1_024;
/** Largest decimal exponent that a quantity keeps exactly. Beyond it the value is the cap. */
export const MAX_QUANTITY_EXPONENT = 64;
/** Managers with operation Update per object. Older ones are merged into one bucket. */
export const MAX_UPDATE_MANAGERS = 10;
/** All annotations of an object together. The last-applied annotation is dropped rather than exceeding it. */
export const MAX_ANNOTATIONS_BYTES = 256 * 1024;
/** A number with this many digits may be parsed to a different integer. */
export const INEXACT_DIGITS = 16;
/** Reported errors of one object, and the total characters of all errors except the first. */
export const MAX_FIELD_ERRORS = 2_000;
export const MAX_FIELD_ERROR_CHARS = 512 * 1024;
/** Entries of one list, and members of one object, in a request: ten times the largest realistic objects. */
export const MAX_ENTRIES = 10_000;
/** Values in one document at any depth. An object of the largest storable size has this many at 15 bytes each. */
export const MAX_VALUES = 100_000;
/** Fields of other owners that a refused apply lists. The message counts them all. */
export const MAX_CONFLICTS_TOLD = 2_000;

/** Strings in which texts of one mould may differ. Each takes a copy of what contains it. */
export const MOULD_GAPS_MAX = 64;
