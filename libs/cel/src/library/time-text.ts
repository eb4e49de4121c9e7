import { Duration, NANOS_PER_SECOND, type Timestamp } from '../values.ts';
import { civilFromDays, daysFromCivil } from './calendar.ts';
import { checkedDuration, checkedTimestamp } from './ranges.ts';

const SYNTAX = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?(?:([Zz])|([+-])(\d\d):(\d\d))$/;
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const SECONDS_PER_DAY = 86_400;
const NANO_DIGITS = 9;

/** Parses RFC 3339. Returns `undefined` for any other text. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = SYNTAX.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = match[8] === undefined ? (Number(match[10]) * 60 + Number(match[11])) * 60 : 0;
  const local = daysFromCivil(year, month - 1, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
  const utc = match[9] === '-' ? local + offset : local - offset;
  const nanos = BigInt((match[7] ?? '').padEnd(NANO_DIGITS, '0'));
  return checkedTimestamp(BigInt(utc) * NANOS_PER_SECOND + nanos);
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && leap ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
}

export function formatTimestamp({ nanos }: Timestamp): string {
  const fraction = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const seconds = Number((nanos - fraction) / NANOS_PER_SECOND);
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  const time = seconds - days * SECONDS_PER_DAY;
  const { year, month, day } = civilFromDays(days);
  const clock = [Math.floor(time / 3600), Math.floor(time / 60) % 60, time % 60].map(twoDigits).join(':');
  return `${String(year).padStart(4, '0')}-${twoDigits(month + 1)}-${twoDigits(day)}T${clock}${fractionText(fraction)}Z`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

function fractionText(nanos: bigint): string {
  const digits = String(nanos).padStart(NANO_DIGITS, '0').replace(/0+$/, '');
  return digits === '' ? '' : `.${digits}`;
}

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', NANOS_PER_SECOND],
  ['m', 60n * NANOS_PER_SECOND],
  ['h', 3_600n * NANOS_PER_SECOND],
]);
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
const MAX_DURATION_CHARS = 256;

/** Parses Go's notation of durations: `1h30m`, `-1.5s`. Returns `undefined` for any other text. */
export function parseDuration(text: string): Duration | undefined {
  if (text.length > MAX_DURATION_CHARS) return undefined;
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return new Duration(0n);
  if (body === '') return undefined;
  let nanos = 0n;
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const part = PART.exec(body);
    if (part === null) return undefined;
    nanos += amount(part[1] ?? '', UNITS.get(part[2] ?? '') ?? 0n);
  }
  return checkedDuration(text.startsWith('-') ? -nanos : nanos);
}

function amount(number: string, unit: bigint): bigint {
  const [whole = '', fraction = ''] = number.split('.');
  const kept = fraction.slice(0, 18);
  return BigInt(whole || '0') * unit + (BigInt(kept || '0') * unit) / 10n ** BigInt(kept.length);
}

/** Formats seconds, as protobuf does. */
export function formatDuration({ nanos }: Duration): string {
  const sign = nanos < 0n ? '-' : '';
  const positive = nanos < 0n ? -nanos : nanos;
  return `${sign}${positive / NANOS_PER_SECOND}${fractionText(positive % NANOS_PER_SECOND)}s`;
}
