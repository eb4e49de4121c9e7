/** Nesting that a document may have; our walkers recurse, so this also bounds the stack. */
export const MAX_JSON_DEPTH = 1_000;
/** Operations in one JSON patch. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** Characters of one path in a JSON patch: the longest key of an annotation has 317. */
export const MAX_JSON_POINTER_CHARS = 64 * 1024;
/** Bytes that all `copy` operations of one JSON patch may add together. */
export const MAX_JSON_PATCH_COPY_BYTES = 3 * 1024 * 1024;
/** Unknown and duplicate fields reported for one document. */
export const MAX_STRICT_ERRORS = 100;
/** Characters of a quantity; more cannot mean a different amount of anything. */
export const MAX_QUANTITY_CHARS = 1_024;
/** Decimal exponent that a quantity keeps exactly; beyond it the value is the cap. */
export const MAX_QUANTITY_EXPONENT = 64;
/** Managers with operation Update that an object remembers; older ones are merged into one bucket. */
export const MAX_UPDATE_MANAGERS = 10;
/** All annotations of an object together; the last-applied annotation is dropped rather than breaking it. */
export const MAX_ANNOTATIONS_BYTES = 256 * 1024;
/** From so many digits on a number may stand for another integer than the one that was written. */
export const INEXACT_DIGITS = 16;
/** Errors of one object that are told, and the characters of all of them but the first. */
export const MAX_FIELD_ERRORS = 2_000;
export const MAX_FIELD_ERROR_CHARS = 512 * 1024;
/** Entries of one list, and members of one object, that a client sends: ten times what the largest honest objects have. */
export const MAX_ENTRIES = 10_000;
/** Values of one document, however nested. An object of the largest size that can be stored has so many when each takes 15 bytes. */
export const MAX_VALUES = 100_000;
/** Fields of other owners that a refused apply is told; the message counts them all. */
export const MAX_CONFLICTS_TOLD = 2_000;
