import { formatTime, parseTime } from '@holdfast/platform';
import { parseCidr, parseIp } from '../validation/ip.ts';

/** The formats that Kubernetes 1.32 checks, without their hyphens. It ignores all others. */
const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', (text) => /^[0-9a-f]{24}$/i.test(text)],
  ['uri', isUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => parseIp(text) !== undefined && text.includes('.') && !text.includes(':')],
  ['ipv6', (text) => text.includes(':') && parseIp(text) !== undefined],
  ['cidr', (text) => parseCidr(text) !== undefined],
  ['mac', (text) => isMac(text)],
  ['uuid', (text) => UUID.test(text)],
  ['uuid3', (text) => UUID.test(text) && text.replaceAll('-', '').charAt(12) === '3'],
  ['uuid4', (text) => isRandomUuid(text, '4')],
  ['uuid5', (text) => isRandomUuid(text, '5')],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)],
  ['rgbcolor', isRgbColour],
  ['byte', (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)],
  ['password', () => true],
  ['date', (text) => isDate(text)],
  ['duration', (text) => isDuration(text)],
  ['datetime', isDateTime],
]);

export const isCheckedFormat = (name: string): boolean => FORMATS.has(name);

/** True when the text fits the format, or when the format is not checked. */
export const fitsFormat = (name: string, text: string): boolean => FORMATS.get(name)?.(text) ?? true;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

function isRandomUuid(text: string, version: string): boolean {
  const digits = text.replaceAll('-', '').toLowerCase();
  return UUID.test(text) && digits.charAt(12) === version && '89ab'.includes(digits.charAt(16));
}

/** Follows Go's request URI: a scheme followed by something, or a path. */
function isUri(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text)) return false;
  if (text.startsWith('/')) return true;
  return /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text);
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 1 || text.length > 254) return false;
  const address = /<([^<>]*)>$/.exec(text)?.[1] ?? text;
  return /^[\w!#$%&'*+/=?^`{|}~.-]+@[\w-]+(?:\.[\w-]+)*$/.test(address) && !address.includes('..');
}

const HOST_PART = /^[a-z0-9\u00a1-\uffff](?:[a-z0-9\u00a1-\uffff-]{0,61}[a-z0-9\u00a1-\uffff])?$/i;

function isHostname(text: string): boolean {
  if (text.length > 255 || text === '') return false;
  const parts = (text.endsWith('.') ? text.slice(0, -1) : text).split('.');
  return parts.every((part) => HOST_PART.test(part)) && !/^\d+$/.test(parts.at(-1) ?? '');
}

const isMac = (text: string): boolean =>
  /^[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}(?:(?:\1[0-9a-f]{2}){2}|(?:\1[0-9a-f]{2}){14})?$/i.test(text) ||
  /^[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?:\.[0-9a-f]{4}|(?:\.[0-9a-f]{4}){7})?$/i.test(text);

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = digits.split('').reduce((all, char, i) => all + (10 - i) * (char === 'X' ? 10 : Number(char)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  return digits.split('').reduce((all, char, i) => all + (i % 2 === 0 ? 1 : 3) * Number(char), 0) % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  const sum = digits
    .split('')
    .reverse()
    .reduce((all, char, i) => {
      const doubled = Number(char) * (i % 2 === 0 ? 1 : 2);
      return all + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return sum % 10 === 0;
}

function isRgbColour(text: string): boolean {
  const found = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  return found !== null && found.slice(1).every((part) => Number(part) <= 255);
}

/** JavaScript's parser reads February 30 as March 1. */
function isDate(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseTime(`${text}T00:00:00Z`) : undefined;
  return at !== undefined && formatTime(at).startsWith(text);
}

function isDateTime(text: string): boolean {
  if (text.length < 4) return false;
  const [date = '', time = ''] = text.toLowerCase().split('t');
  if (!isDate(date)) return false;
  return /^\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:z|[+-]\d{2}:\d{2})$/.test(time) && parseTime(text.toUpperCase()) !== undefined;
}

/**
 * Accepts Go durations and the longer notation with named units. Each digit can be read in one way only: otherwise the time
 * would grow with the square of their number.
 */
const isDuration = (text: string): boolean =>
  /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(text) ||
  /^\d+ ?(?:ns|nanos?|us|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)$/i.test(
    text,
  );
