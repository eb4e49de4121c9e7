import { parseArgs } from 'node:util';
import { OperatorError } from './errors.ts';

/**
 * Settings of a program: each is a flag `--data-dir` and an environment variable `HOLDFAST_DATA_DIR`; the flag wins, then the
 * variable, then the default. The program's `main.ts` hands in both sources; nothing else reads the environment.
 */
export type SettingSpec =
  | { readonly kind: 'string'; readonly help: string; readonly short?: string; readonly default?: string }
  | {
      readonly kind: 'integer';
      readonly help: string;
      readonly short?: string;
      readonly default?: number;
      readonly min?: number;
      readonly max?: number;
    }
  | { readonly kind: 'boolean'; readonly help: string; readonly short?: string };

type ValueOf<S extends SettingSpec> = S extends { kind: 'boolean' }
  ? boolean
  : S extends { kind: 'integer' }
    ? S extends { default: number }
      ? number
      : number | undefined
    : S extends { default: string }
      ? string
      : string | undefined;

/** Keys are flag names without the dashes. */
export type SettingSpecs = Readonly<Record<string, SettingSpec>>;
export type Settings<S extends SettingSpecs> = { readonly [K in keyof S]: ValueOf<S[K]> };

export interface SettingSource {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Throws an `OperatorError` that names the setting and what it takes. */
export function readSettings<S extends SettingSpecs>(specs: S, source: SettingSource): Settings<S> {
  const { values } = parseFlags(specs, source.argv, false);
  return convertAll(specs, (name) => {
    const given = values[name];
    const variable = environmentName(name);
    if (given !== undefined) return { from: `--${name}`, raw: given };
    return { from: variable, raw: Object.hasOwn(source.env, variable) ? source.env[variable] : undefined };
  });
}

export interface Arguments<S extends SettingSpecs> {
  readonly settings: Settings<S>;
  /** What is not a flag, in order. */
  readonly words: readonly string[];
}

/** For commands that people type: flags and words, nothing from the environment, so that nothing dangerous is said once and for all. */
export function readArguments<S extends SettingSpecs>(specs: S, argv: readonly string[]): Arguments<S> {
  const { values, positionals } = parseFlags(specs, argv, true);
  return { settings: convertAll(specs, (name) => ({ from: `--${name}`, raw: values[name] })), words: positionals };
}

/** A value as it was given, and the flag or variable that gave it: the one to be corrected. */
interface Given {
  readonly from: string;
  readonly raw: string | boolean | undefined;
}

function convertAll<S extends SettingSpecs>(specs: S, givenOf: (name: string) => Given): Settings<S> {
  const values = Object.entries(specs).map(([name, spec]) => {
    const { from, raw } = givenOf(name);
    return [name, raw === undefined || raw === '' ? defaultOf(spec) : convert(from, spec, raw)] as const;
  });
  return decodeSettings<S>(Object.fromEntries(values));
}

/** The settings without which a program cannot work, or an `OperatorError` that names every missing one. */
export function requireSettings<S extends SettingSpecs, K extends keyof S & string>(
  settings: Settings<S>,
  names: readonly K[],
): { readonly [N in K]: NonNullable<Settings<S>[N]> } {
  const missing = names.filter((name) => settings[name] === undefined);
  if (missing.length > 0) {
    throw badSetting(`missing ${missing.map((name) => `--${name} (${environmentName(name)})`).join(', ')}`);
  }
  return settings as { readonly [N in K]: NonNullable<Settings<S>[N]> };
}

/** The table that `--help` prints. */
export function describeSettings(specs: SettingSpecs): string {
  return inColumns(
    Object.entries(specs).map(([name, spec]) => [`  ${flagOf(name, spec)}`, environmentName(name), helpOf(spec)]),
  );
}

/** The same for a command that takes nothing from the environment. */
export function describeFlags(specs: SettingSpecs): string {
  return inColumns(
    Object.entries(specs).map(([name, spec]) => {
      const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
      return [`  ${short}${flagOf(name, spec)}`, helpOf(spec)];
    }),
  );
}

function flagOf(name: string, spec: SettingSpec): string {
  return spec.kind === 'boolean' ? `--${name}` : `--${name} <${spec.kind === 'integer' ? 'n' : 'value'}>`;
}

function helpOf(spec: SettingSpec): string {
  const fallback = defaultOf(spec);
  return fallback === undefined || fallback === false || fallback === ''
    ? spec.help
    : `${spec.help} (default ${String(fallback)})`;
}

/** Lines of cells, each column as wide as its widest cell. */
function inColumns(rows: readonly (readonly string[])[]): string {
  const widthOf = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = (rows[0] ?? []).map((_, column) => widthOf(column));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

export function environmentName(flag: string): string {
  return `HOLDFAST_${flag.toUpperCase().replaceAll('-', '_')}`;
}

interface ParsedFlags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

function parseFlags(specs: SettingSpecs, argv: readonly string[], allowPositionals: boolean): ParsedFlags {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { kind, short }]) => {
      const type: 'boolean' | 'string' = kind === 'boolean' ? 'boolean' : 'string';
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals });
  } catch (error) {
    // The parser's sentence names the flag; what follows in it is advice about programming.
    const sentence = (error instanceof Error ? error.message : String(error)).split(/\. |\n/)[0] ?? '';
    throw badSetting(sentence.charAt(0).toLowerCase() + sentence.slice(1), error);
  }
}

function convert(from: string, spec: SettingSpec, raw: string | boolean): string | number | boolean {
  switch (spec.kind) {
    case 'boolean':
      if (raw === true || raw === 'true' || raw === '1') return true;
      if (raw === 'false' || raw === '0') return false;
      throw badSetting(`${from} takes true or false, not "${raw}"`);
    case 'integer':
      return convertInteger(from, spec, String(raw));
    case 'string':
      return String(raw);
  }
}

function convertInteger(from: string, spec: SettingSpec & { kind: 'integer' }, raw: string): number {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = spec;
  const value = Number(raw);
  if (!/^-?\d+$/.test(raw) || value < min || value > max) {
    const low = spec.min === undefined ? '' : ` of at least ${min}`;
    const high = spec.max === undefined ? '' : ` and at most ${max}`;
    throw badSetting(`${from} takes a whole number${low}${high}, not "${raw}"`);
  }
  return value;
}

function defaultOf(spec: SettingSpec): string | number | boolean | undefined {
  return spec.kind === 'boolean' ? false : spec.default;
}

/** The one place where the values get their types: every value above came from its spec. */
function decodeSettings<S extends SettingSpecs>(values: Record<string, unknown>): Settings<S> {
  return values as Settings<S>;
}

function badSetting(message: string, cause?: unknown): OperatorError {
  return new OperatorError({
    code: 'BadSetting',
    message,
    nextStep: 'Run with --help to see every setting and what it takes.',
    exitCode: 2,
    cause,
  });
}
