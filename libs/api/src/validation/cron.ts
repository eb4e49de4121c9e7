import { ownValue } from '@holdfast/machinery';
import { GO_INT_END } from './numbers.ts';
import { isKnownTimeZone } from './time-zone.ts';

/** Cron schedules with five fields, or a word such as `@daily`. Errors have the words of Kubernetes' parser. */
interface Field {
  readonly min: number;
  readonly max: number;
  readonly names?: Readonly<Record<string, number>>;
}

const MONTHS = { jan: 1, feb: 2, mar: 3, apr: 4, may: 5, jun: 6, jul: 7, aug: 8, sep: 9, oct: 10, nov: 11, dec: 12 };
const DAYS = { sun: 0, mon: 1, tue: 2, wed: 3, thu: 4, fri: 5, sat: 6 };

const FIELDS: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
];

const DESCRIPTORS: ReadonlySet<string> = new Set([
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
]);

export function cronScheduleError(schedule: string): string | undefined {
  if (schedule === '') return 'empty spec string';
  let spec = schedule;
  const zone = /^(?:TZ|CRON_TZ)=(\S*)\s*/.exec(spec);
  if (zone !== null) {
    const name = zone[1] ?? '';
    if (name !== '' && name !== 'Local' && !isKnownTimeZone(name)) {
      return `provided bad location ${name}: unknown time zone ${name}`;
    }
    spec = spec.slice(zone[0].length).trim();
  }
  if (spec.startsWith('@')) return descriptorError(spec);
  const parts = spec.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== FIELDS.length) {
    return `expected exactly ${FIELDS.length} fields, found ${parts.length}: [${parts.join(' ')}]`;
  }
  for (const [i, part] of parts.entries()) {
    const field = FIELDS[i];
    const error = field === undefined ? undefined : fieldError(part, field);
    if (error !== undefined) return error;
  }
  return undefined;
}

function descriptorError(spec: string): string | undefined {
  if (DESCRIPTORS.has(spec)) return undefined;
  if (!spec.startsWith('@every ')) return `unrecognized descriptor: ${spec}`;
  const duration = spec.slice('@every '.length);
  if (/^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(duration)) return undefined;
  return `failed to parse duration ${spec}: time: ${durationProblem(duration)}`;
}

function durationProblem(text: string): string {
  const quoted = JSON.stringify(text);
  const [, unit] = /^[+-]?(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))*\d+(?:\.\d*)?([^\d.]*)/.exec(text) ?? [];
  if (unit === undefined) return `invalid duration ${quoted}`;
  return unit === ''
    ? `missing unit in duration ${quoted}`
    : `unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
}

function fieldError(text: string, field: Field): string | undefined {
  for (const part of text.split(',').filter((range) => range !== '')) {
    const error = rangeError(part, field);
    if (error !== undefined) return error;
  }
  return undefined;
}

function rangeError(text: string, field: Field): string | undefined {
  const [range = '', step, ...moreSteps] = text.split('/');
  const [low = '', high, ...moreHighs] = range.split('-');
  const isStar = low === '*' || low === '?';
  const start = isStar ? field.min : parseNumber(low, field);
  if (typeof start === 'string') return start;
  if (!isStar && moreHighs.length > 0) return `too many hyphens: ${text}`;
  let end: number | string = isStar ? field.max : high === undefined ? start : parseNumber(high, field);
  if (typeof end === 'string') return end;
  if (moreSteps.length > 0) return `too many slashes: ${text}`;
  const every = step === undefined ? 1 : parsePlainNumber(step);
  if (typeof every === 'string') return every;
  if (step !== undefined && high === undefined) end = field.max;
  if (start < field.min) return `beginning of range (${start}) below minimum (${field.min}): ${text}`;
  if (end > field.max) return `end of range (${end}) above maximum (${field.max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  return every === 0 ? `step of range should be a positive number: ${text}` : undefined;
}

const parseNumber = (text: string, field: Field): number | string =>
  ownValue(field.names, text.toLowerCase()) ?? parsePlainNumber(text);

function parsePlainNumber(text: string): number | string {
  const fail = (problem: string): string =>
    `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: ${problem}`;
  if (!/^[+-]?\d+$/.test(text)) return fail('invalid syntax');
  const number = Number(text);
  if (Math.abs(number) >= GO_INT_END) return fail('value out of range');
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number;
}
