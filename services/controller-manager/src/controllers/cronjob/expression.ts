/** The five fields of a cron expression, as the numbers they stand for. */
export interface Expression {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Undefined: every day (then the other kind of day decides alone). */
  readonly daysOfMonth: readonly number[] | undefined;
  readonly months: readonly number[];
  readonly daysOfWeek: readonly number[] | undefined;
}

interface FieldRange {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const DESCRIPTORS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
    '@monthly': '0 0 1 * *',
    '@weekly': '0 0 * * 0',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@hourly': '0 * * * *',
  }),
);

/** Undefined when the text is no expression of this form. */
export function parseExpression(text: string): Expression | undefined {
  const [minute, hour, dayOfMonth, month, dayOfWeek, ...more] = (DESCRIPTORS.get(text.trim()) ?? text)
    .trim()
    .split(/\s+/);
  const minutes = valuesOf(minute, { min: 0, max: 59 });
  const hours = valuesOf(hour, { min: 0, max: 23 });
  const daysOfMonth = valuesOf(dayOfMonth, { min: 1, max: 31 });
  const months = valuesOf(month, { min: 1, max: 12, names: MONTHS });
  const daysOfWeek = valuesOf(dayOfWeek, { min: 0, max: 6, names: DAYS });
  if (!minutes || !hours || !daysOfMonth || !months || !daysOfWeek || more.length > 0) return undefined;
  return {
    minutes,
    hours,
    daysOfMonth: isEvery(dayOfMonth) ? undefined : daysOfMonth,
    months,
    daysOfWeek: isEvery(dayOfWeek) ? undefined : daysOfWeek,
  };
}

/** A star (with no step) among the parts makes the field say nothing. */
const isEvery = (field = ''): boolean => field.split(',').some((part) => /^[*?](\/1)?$/.test(part));

function valuesOf(field: string | undefined, range: FieldRange): readonly number[] | undefined {
  const values = new Set<number>();
  for (const part of (field ?? '').split(',').filter((text) => text !== '')) {
    const interval = intervalOf(part, range);
    if (interval === undefined) return undefined;
    for (let value = interval.first; value <= interval.last; value += interval.step) values.add(value);
  }
  return values.size === 0 ? undefined : [...values].sort((a, b) => a - b);
}

interface Interval {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

function intervalOf(part: string, range: FieldRange): Interval | undefined {
  const [ends = '', stepText, ...moreSteps] = part.split('/');
  const [low = '', high, ...moreEnds] = ends.split('-');
  const isStar = low === '*' || low === '?';
  const first = isStar ? range.min : numberOf(low, range);
  const named = high === undefined ? undefined : numberOf(high, range);
  const single = stepText === undefined ? first : range.max;
  const last = isStar ? range.max : high === undefined ? single : named;
  const step = stepText === undefined ? 1 : numberOf(stepText, { min: 1, max: Number.MAX_SAFE_INTEGER });
  const isWrong = moreSteps.length + (isStar ? 0 : moreEnds.length) > 0;
  if (isWrong || first === undefined || last === undefined || step === undefined || first > last) return undefined;
  return { first, last, step };
}

function numberOf(text: string, { min, max, names }: FieldRange): number | undefined {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  const value = named >= 0 ? named + min : /^\+?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}
