const INT32_MAX = 2_147_483_647;

/**
 * A number as it is, a percentage of `of` rounded as the field demands, in the range of the fields that it becomes part of.
 * Anything else counts as nothing: validation refuses it.
 */
export function scaled(value: number | string, of: number, round: (value: number) => number): number {
  if (typeof value === 'number') return Math.max(0, value);
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined || of === 0 ? 0 : Math.min(INT32_MAX, round((Number(percent) * of) / 100));
}
