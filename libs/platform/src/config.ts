import { parseArgs } from 'node:util';
import { nearest } from './nearest.ts';
import {
  badSetting,
  convertSetting,
  defaultSetting,
  flagText,
  helpText,
  SEE_HELP,
  type SettingSpec,
  type SettingValue,
  type ValueOf,
} from './setting-kinds.ts';

export { nearest } from './nearest.ts';
export { badSetting, type SettingSpec } from './setting-kinds.ts';

/**
 * Settings of a program. Each setting is a flag `--data-dir` and an environment variable `HOLDFAST_DATA_DIR`. The flag
 * wins over the variable, and the variable over the default. The program's `main.ts` passes both sources in; nothing
 * else reads the environment. Keys are flag names without the dashes.
 */
export type SettingSpecs = Readonly<Record<string, SettingSpec>>;
export type Settings<S extends SettingSpecs> = { readonly [K in keyof S]: ValueOf<S[K]> };

export interface SettingSource {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Throws an `OperatorError` that names the setting and the accepted values. */
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
  /** The arguments that are not flags, in order. */
  readonly words: readonly string[];
}

/**
 * Reads flags and words for commands that people type. It ignores the environment, so that nobody can set a dangerous
 * option permanently.
 */
export function readArguments<S extends SettingSpecs>(specs: S, argv: readonly string[]): Arguments<S> {
  const { values, positionals } = parseFlags(specs, argv, true);
  return { settings: convertAll(specs, (name) => ({ from: `--${name}`, raw: values[name] })), words: positionals };
}

/** A value as the user wrote it, and the flag or variable to correct. */
interface Given {
  readonly from: string;
  readonly raw: string | boolean | undefined;
}

function convertAll<S extends SettingSpecs>(specs: S, givenOf: (name: string) => Given): Settings<S> {
  const values = Object.entries(specs).map(([name, spec]) => {
    const { from, raw } = givenOf(name);
    return [name, raw === undefined || raw === '' ? defaultSetting(spec) : convertSetting(from, spec, raw)] as const;
  });
  return decodeSettings<S>(Object.fromEntries(values));
}

/** Returns the settings with the required ones present. Throws an `OperatorError` that names every missing one. */
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
    Object.entries(specs).map(([name, spec]) => [`  ${flagText(name, spec)}`, environmentName(name), helpText(spec)]),
  );
}

/** The same table for a command that does not read the environment. */
export function describeFlags(specs: SettingSpecs): string {
  return inColumns(
    Object.entries(specs).map(([name, spec]) => {
      const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
      return [`  ${short}${flagText(name, spec)}`, helpText(spec)];
    }),
  );
}

/** Formats rows as lines; each column is as wide as its widest cell. */
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
      // The parser refuses `--flag=false` for a boolean; as a string it takes only this form.
      const isBare = kind === 'boolean' && !argv.some((each) => each.startsWith(`--${name}=`));
      const type: 'boolean' | 'string' = isBare ? 'boolean' : 'string';
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals });
  } catch (error) {
    // The first sentence of the parser names the flag. The rest is advice for programmers.
    const sentence = (error instanceof Error ? error.message : String(error)).split(/\. |\n/)[0] ?? '';
    throw badSetting(sentence.charAt(0).toLowerCase() + sentence.slice(1), nextStepOf(sentence, specs), error);
  }
}

function nextStepOf(sentence: string, specs: SettingSpecs): string {
  const [, unknown] = /^Unknown option '--([^']+)'/.exec(sentence) ?? [];
  const meant = unknown === undefined ? undefined : nearest(unknown, Object.keys(specs));
  return meant === undefined ? SEE_HELP : `Do you mean --${meant}? ${SEE_HELP}`;
}

/** The only place where the values get their types: each value was converted by its spec. */
function decodeSettings<S extends SettingSpecs>(values: Record<string, SettingValue | undefined>): Settings<S> {
  return values as unknown as Settings<S>;
}
