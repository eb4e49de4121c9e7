import type { ValueField } from './kinds.ts';
import type { Amount } from './model.ts';

const SPAN = /^(-?\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$/;
const NUMBER = /^-?\d{1,9}(?:\.\d{1,6})?$/;
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
const SECOND: ValueField = { name: '', unit: 'span', spanMs: 1000 };
/** Six decimals: finer than the simulator counts. */
const PRECISION = 1e6;

/** `90s`, `1.5s`, `20ms`, `15m` or `1h`, in seconds; undefined for any other text. */
export const parseSeconds = (text: string): number | undefined => parseOne(text, SECOND);

/** `5s`, or `5s..10s` for an amount that the seed draws; undefined for any other text. */
export function parseAmount(text: string, field: ValueField = SECOND): Amount | undefined {
  const parts = text.split('..');
  const [first, last] = [parseOne(parts[0] ?? '', field), parseOne(parts[1] ?? '', field)];
  if (parts.length === 1) return first;
  if (parts.length > 2 || first === undefined || last === undefined || first >= last) return undefined;
  return [first, last];
}

export function printAmount(amount: Amount, field: ValueField = SECOND): string {
  const each = (value: number): string => (field.unit === 'span' ? `${plain(value)}${unitOf(field)}` : plain(value));
  return typeof amount === 'number' ? each(amount) : `${each(amount[0])}..${each(amount[1])}`;
}

function parseOne(text: string, { unit, spanMs = 1000 }: ValueField): number | undefined {
  if (unit !== 'span') return NUMBER.test(text) ? Number(text) : undefined;
  const [, amount, suffix = ''] = SPAN.exec(text) ?? [];
  if (amount === undefined) return undefined;
  return rounded((Number(amount) * (UNIT_MS.get(suffix) ?? 0)) / spanMs);
}

const rounded = (value: number): number => Math.round(value * PRECISION) / PRECISION;
const unitOf = ({ spanMs }: ValueField): string => (spanMs === 1 ? 'ms' : 's');

/** Without an exponent, and without a sign on zero. */
function plain(value: number): string {
  const text = rounded(value)
    .toFixed(6)
    .replace(/\.?0+$/, '');
  return text === '-0' ? '0' : text;
}
