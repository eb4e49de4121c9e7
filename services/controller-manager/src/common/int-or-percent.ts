/** A number as it is, a percentage of `of` rounded as the field demands. Anything else counts as nothing: validation refuses it. */
export function scaled(value: number | string, of: number, round: (value: number) => number): number {
  if (typeof value === 'number') return Math.max(0, value);
  const percent = /^(\d+)%$/.exec(value)?.[1];
  return percent === undefined ? 0 : round((Number(percent) * of) / 100);
}
