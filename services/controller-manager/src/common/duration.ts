const PART = /(\d+(?:\.\d+)?)(h|ms|m|s)/g;
const WHOLE = /^(?:\d+(?:\.\d+)?(?:h|ms|m|s))+$/;
const UNIT_MS: ReadonlyMap<string, number> = new Map(Object.entries({ h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }));

/** Milliseconds of a duration as Kubernetes writes it (`1m30s`); `undefined` when it is none. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!WHOLE.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_MS.get(unit) ?? 0),
    0,
  );
}
