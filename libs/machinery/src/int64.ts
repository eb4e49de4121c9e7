/** 64-bit integers are kept between this value and its negative. Go clients cannot read the next larger double. */
export const KEPT_MAX = 2 ** 63 - 1024;
const CHARS_MAX = 20;

/** Clamps a 64-bit integer to the kept range. */
export const nearestKept = (value: number): number => Math.max(-KEPT_MAX, Math.min(value, KEPT_MAX));

export function isInt64(written: string): boolean {
  if (written.length > CHARS_MAX || !/^-?\d+$/.test(written)) return false;
  const value = BigInt(written);
  return BigInt.asIntN(64, value) === value;
}
