const UNIT_MS: ReadonlyMap<string, number> = new Map(Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }));

/** `1m30s`, `500ms`, `0`; `undefined`: none. */
export function readDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (UNIT_MS.get(unit) ?? 0);
  }
  return total;
}
