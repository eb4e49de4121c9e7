/** Bytes come whole: `1500m` of them are accepted and mean nothing. Amounts are canonical, so the suffix tells. */
export function warnOfFraction(out: string[], path: string, amount: string | undefined): void {
  if (amount === undefined || !/[mun]$/.test(amount)) return;
  out.push(`${path}: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`);
}
