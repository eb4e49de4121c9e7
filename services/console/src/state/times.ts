const UNITS: readonly (readonly [seconds: number, letter: string])[] = [
  [86_400 * 365, 'y'],
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
  [1, 's'],
];
/** Below this many of a unit, the next smaller one says more: 90s, not 1m. */
const AT_LEAST = 2;

/** How long ago, as `kubectl` counts: `45s`, `12m`, `3h`, `9d`. */
export function ageOf(time: string, now: number): string {
  const began = parse(time);
  if (began === undefined) return '';
  const seconds = Math.max(0, Math.floor((now - began) / 1000));
  const unit = UNITS.find(([length]) => seconds >= length * AT_LEAST) ?? [1, 's'];
  return `${Math.floor(seconds / unit[0])}${unit[1]}`;
}

/** Milliseconds since the epoch of `2026-11-23T17:19:42Z`, with or without a fraction. */
export function parse(time: string): number | undefined {
  const found = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?Z$/.exec(time);
  if (found === null) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = found.slice(1, 7).map(Number);
  const days = daysSinceEpoch(year, month, day);
  return ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + Number(found[7] ?? 0) * 1000;
}

/** The proleptic Gregorian calendar, with years that begin in March. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const ofEra = y - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** `17:19:42`, on the clock of the reader. */
export const clockTime = (ms: number): string => CLOCK.format(ms);
