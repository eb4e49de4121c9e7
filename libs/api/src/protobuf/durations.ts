const NANOS_PER_SECOND = 1_000_000_000n;

/** Formats a duration as Go does: `1h30m0s`, `1.5s`. */
export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = String(size % NANOS_PER_SECOND)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const total = size / NANOS_PER_SECOND;
  const seconds = `${total % 60n}${fraction === '' ? '' : `.${fraction}`}s`;
  const hours = total / 3600n;
  const minutes = (total / 60n) % 60n;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

const NANOS_OF: ReadonlyMap<string, number> = new Map([
  ['ns', 1],
  ['us', 1e3],
  ['µs', 1e3],
  ['ms', 1e6],
  ['s', 1e9],
  ['m', 60e9],
  ['h', 3_600e9],
]);

/** Parses a duration in Go's notation. */
export function nanosOf(text: string): number {
  let nanos = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/([\d.]+)([a-zµ]+)/g))
    nanos += Number(count) * (NANOS_OF.get(unit) ?? 0);
  return Math.round(text.startsWith('-') ? -nanos : nanos);
}
