const PART = /(\d+\.?\d*|\.\d+)(h|ms|us|µs|ns|m|s)/g;
const WHOLE = /^(?:(?:\d+\.?\d*|\.\d+)(?:h|ms|us|µs|ns|m|s))+$/;
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['ns', 1e-6],
]);

/**
 * Parses a duration in the notation of Kubernetes (`1m30s`) to milliseconds. A duration is never negative. Returns
 * `undefined` for any other text.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!WHOLE.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(PART)) total += Number(amount) * (UNIT_MS.get(unit) ?? 0);
  return total;
}
