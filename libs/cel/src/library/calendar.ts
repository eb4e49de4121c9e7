import { EvaluationError, NANOS_PER_SECOND, type Timestamp } from '../values.ts';

/** The parts of a time in a time zone. */
export interface Moment {
  readonly year: number;
  /** 0 is January. */
  readonly month: number;
  /** Starts at 1. */
  readonly day: number;
  /** Starts at 0. */
  readonly dayOfYear: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly milliseconds: number;
}

const SECONDS_PER_DAY = 86_400;
const MILLIS_PER_SECOND = 1_000;
const NANOS_PER_MILLI = 1_000_000n;
const DAYS_PER_ERA = 146_097;
/** Days from 0000-03-01 to 1970-01-01. */
const EPOCH_SHIFT_DAYS = 719_468;

export function momentOf(timestamp: Timestamp, zone: string | undefined): Moment {
  const seconds = Number(floorDivide(timestamp.nanos, NANOS_PER_SECOND));
  const nanos = timestamp.nanos - BigInt(seconds) * NANOS_PER_SECOND;
  const local = seconds + (zone === undefined ? 0 : offsetSeconds(zone, seconds));
  const days = Math.floor(local / SECONDS_PER_DAY);
  const time = local - days * SECONDS_PER_DAY;
  const date = civilFromDays(days);
  return {
    ...date,
    dayOfYear: days - daysFromCivil(date.year, 0, 1),
    weekday: (((days + 4) % 7) + 7) % 7,
    hours: Math.floor(time / 3600),
    minutes: Math.floor(time / 60) % 60,
    seconds: time % 60,
    milliseconds: Number(nanos / NANOS_PER_MILLI),
  };
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value < 0n && value % by !== 0n ? quotient - 1n : quotient;
}

/** Returns the Gregorian date of a day, counted from 1970-01-01. */
export function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + EPOCH_SHIFT_DAYS;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = (marchMonth + 2) % 12;
  return {
    year: yearOfEra + era * 400 + (month < 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1,
  };
}

/** Returns the days from 1970-01-01 to a Gregorian date; months start at 0. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const shiftedYear = month < 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 10) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_ERA + dayOfEra - EPOCH_SHIFT_DAYS;
}

const FIXED_OFFSET = /^([+-]?)(\d{1,2}):(\d{2})$/;

/** `UTC`, `+01:30`, `Europe/Berlin`. */
function offsetSeconds(zone: string, seconds: number): number {
  const fixed = FIXED_OFFSET.exec(zone);
  if (fixed === null) return namedOffset(zone, seconds);
  const offset = Number(fixed[2]) * 3600 + Number(fixed[3]) * 60;
  return fixed[1] === '-' ? -offset : offset;
}

const formatters = new Map<string, Intl.DateTimeFormat>();
const MAX_ZONES = 600;

function namedOffset(zone: string, seconds: number): number {
  const parts = formatterOf(zone).formatToParts(seconds * MILLIS_PER_SECOND);
  const part = (type: string): number => Number(parts.find((each) => each.type === type)?.value);
  const era = parts.find((each) => each.type === 'era')?.value;
  const year = era === 'BC' ? 1 - part('year') : part('year');
  const days = daysFromCivil(year, part('month') - 1, part('day'));
  return days * SECONDS_PER_DAY + part('hour') * 3600 + part('minute') * 60 + part('second') - seconds;
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  try {
    const formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    if (formatters.size >= MAX_ZONES) formatters.clear();
    formatters.set(zone, formatter);
    return formatter;
  } catch {
    throw new EvaluationError(`unknown time zone ${zone}`);
  }
}
