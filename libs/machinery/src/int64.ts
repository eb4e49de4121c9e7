/** The integers of 64 bits that are kept lie between this and its negative: the next number is one that clients in Go cannot read. */
const KEPT_MAX = 2 ** 63 - 1024;
const CHARS_MAX = 20;

/** Of a number that is an integer of 64 bits, or what became of one. */
export const nearestKept = (value: number): number => Math.max(-KEPT_MAX, Math.min(value, KEPT_MAX));

export function isInt64(written: string): boolean {
  if (written.length > CHARS_MAX || !/^-?\d+$/.test(written)) return false;
  const value = BigInt(written);
  return BigInt.asIntN(64, value) === value;
}
