import { parseDuration } from './durations.ts';
import { OperatorError } from './errors.ts';

interface Described {
  readonly help: string;
  /** One letter: `-n`. */
  readonly short?: string;
}

/**
 * The kind of a setting. `duration` uses the notation of Kubernetes (`1m30s`) and yields milliseconds. `list` is
 * separated by commas. `file` is a path. An absent value without a default is `undefined`.
 */
export type SettingSpec = Described &
  (
    | { readonly kind: 'string' | 'file'; readonly default?: string }
    | { readonly kind: 'integer'; readonly default?: number; readonly min?: number; readonly max?: number }
    | { readonly kind: 'boolean'; readonly default?: true }
    | { readonly kind: 'duration'; readonly default?: string; readonly min?: string; readonly max?: string }
    | { readonly kind: 'enum'; readonly values: readonly string[]; readonly default?: string }
    | { readonly kind: 'list'; readonly values?: readonly string[]; readonly default?: readonly string[] }
  );

type SpecOf<K extends SettingSpec['kind']> = Extract<SettingSpec, { readonly kind: K }>;

type Given<S extends SettingSpec> = S extends { kind: 'integer' | 'duration' }
  ? number
  : S extends { kind: 'enum'; values: readonly (infer V)[] }
    ? V
    : S extends { kind: 'list' }
      ? readonly (S extends { values: readonly (infer V)[] } ? V : string)[]
      : string;

export type ValueOf<S extends SettingSpec> = S extends { kind: 'boolean' }
  ? boolean
  : S extends { default: unknown }
    ? Given<S>
    : Given<S> | undefined;

export type SettingValue = string | number | boolean | readonly string[];

/** Converts the text of a setting. `from` is the flag or variable that it came from. */
export function convertSetting(from: string, spec: SettingSpec, raw: string | boolean): SettingValue {
  const text = String(raw);
  switch (spec.kind) {
    case 'boolean':
      if (raw === true || raw === 'true' || raw === '1') return true;
      if (raw === 'false' || raw === '0') return false;
      throw badSetting(`${from} takes true or false, not "${text}"`);
    case 'integer':
      return convertInteger(from, spec, text);
    case 'duration':
      return convertDuration(from, spec, text);
    case 'enum':
      return oneOf(from, spec.values, text);
    case 'list':
      return convertList(from, spec, text);
    case 'string':
    case 'file':
      return text;
  }
}

function convertInteger(from: string, spec: SpecOf<'integer'>, raw: string): number {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = spec;
  const value = Number(raw);
  if (/^-?\d+$/.test(raw) && value >= min && value <= max) return value;
  throw badSetting(`${from} takes a whole number${boundsText(spec)}, not "${raw}"`);
}

function convertDuration(from: string, spec: SpecOf<'duration'>, raw: string): number {
  const value = parseDuration(raw);
  const min = spec.min === undefined ? 0 : durationOf(spec.min);
  const max = spec.max === undefined ? Number.POSITIVE_INFINITY : durationOf(spec.max);
  if (value !== undefined && value >= min && value <= max) return value;
  throw badSetting(`${from} takes a duration such as 1m30s${boundsText(spec)}, not "${raw}"`);
}

function boundsText({ min, max }: { readonly min?: number | string; readonly max?: number | string }): string {
  return `${min === undefined ? '' : ` of at least ${min}`}${max === undefined ? '' : ` and at most ${max}`}`;
}

function oneOf(from: string, values: readonly string[], text: string): string {
  if (values.includes(text)) return text;
  throw badSetting(`${from} takes one of ${values.join(', ')}, not "${text}"`);
}

function convertList(from: string, { values }: SpecOf<'list'>, text: string): readonly string[] {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return values === undefined ? parts : parts.map((part) => oneOf(from, values, part));
}

export function defaultSetting(spec: SettingSpec): SettingValue | undefined {
  if (spec.kind === 'boolean') return spec.default ?? false;
  return spec.kind === 'duration' && spec.default !== undefined ? durationOf(spec.default) : spec.default;
}

function durationOf(text: string): number {
  const value = parseDuration(text);
  if (value === undefined) throw new TypeError(`a settings table has the duration "${text}"`);
  return value;
}

const PLACEHOLDERS: Readonly<Record<Exclude<SettingSpec['kind'], 'boolean'>, string>> = {
  string: 'value',
  integer: 'n',
  duration: 'duration',
  enum: 'word',
  list: 'list',
  file: 'file',
};

/** `--port <n>`; a boolean that is true by default is only of use with its other value. */
export function flagText(name: string, spec: SettingSpec): string {
  if (spec.kind !== 'boolean') return `--${name} <${PLACEHOLDERS[spec.kind]}>`;
  return spec.default === true ? `--${name}=false` : `--${name}`;
}

/** Returns the help text with the accepted values, where the table knows them, and the default. */
export function helpText(spec: SettingSpec): string {
  const allowed = 'values' in spec && spec.values !== undefined ? ` (${allowedText(spec.kind, spec.values)})` : '';
  const shown = Array.isArray(spec.default) ? spec.default.join(',') : String(spec.default ?? '');
  return `${spec.help}${allowed}${shown === '' ? '' : ` (default ${shown})`}`;
}

const allowedText = (kind: SettingSpec['kind'], values: readonly string[]): string =>
  `${kind === 'list' ? 'any of' : 'one of'} ${values.join(', ')}`;

export const SEE_HELP = 'Run with --help to see every setting and its values.';

export function badSetting(message: string, nextStep = SEE_HELP, cause?: unknown): OperatorError {
  return new OperatorError({ code: 'BadSetting', message, nextStep, exitCode: 2, cause });
}
