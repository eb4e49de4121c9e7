import { badRequest } from '@holdfast/machinery';

const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;
/** A number of so many digits is smaller than that, whatever they are. */
const ALWAYS_FITS_DIGITS = 19;

/** Parses a number of a query; errors have Go's words. An empty value is invalid. */
export function readInt64(text: string): number {
  const refuse = (why: string): Error => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw refuse('invalid syntax');
  const value = BigInt(text);
  if (value > INT64_MAX || value < -INT64_MAX - 1n) throw refuse('value out of range');
  return Number(value);
}

/** Why a text is no revision, in the words of Go; `undefined` when it is one. */
export function revisionProblem(text: string): string | undefined {
  if (!/^\d+$/.test(text)) return `${problemOf(text)}: invalid syntax`;
  if (text.length <= ALWAYS_FITS_DIGITS) return undefined;
  const significant = text.replace(/^0+/, '');
  // Three million digits take half a second to become a number.
  const isTooLarge = significant.length > ALWAYS_FITS_DIGITS + 1 || BigInt(significant) > UINT64_MAX;
  return isTooLarge ? `${problemOf(text)}: value out of range` : undefined;
}

const problemOf = (text: string): string => `strconv.ParseUint: parsing ${JSON.stringify(text)}`;
