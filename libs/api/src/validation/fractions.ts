/**
 * Warns of fractions of bytes: `1500m` is accepted but has no meaning. Amounts are canonical, so the suffix suffices.
 */
export function warnOfFraction(out: string[], path: string, amount: string | undefined): void {
  if (amount === undefined || !/[mun]$/.test(amount)) return;
  out.push(`${path}: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`);
}
