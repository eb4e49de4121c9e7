import { parseArgs } from 'node:util';
import { OperatorError } from './errors.ts';

/**
 * Settings of a program: each is a flag `--data-dir` and an environment variable `HOLDFAST_DATA_DIR`; the flag wins, then the
 * variable, then the default. The program's `main.ts` hands in both sources; nothing else reads the environment.
 */
export type SettingSpec =
  | { readonly kind: 'string'; readonly help: string; readonly default?: string }
  | {
      readonly kind: 'integer';
      readonly help: string;
      readonly default?: number;
      readonly min?: number;
      readonly max?: number;
    }
  | { readonly kind: 'boolean'; readonly help: string };

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
  const flags = parseFlags(specs, source.argv);
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const raw = flags[name] ?? source.env[environmentName(name)];
    values[name] = raw === undefined || raw === '' ? defaultOf(spec) : convert(name, spec, raw);
  }
  return decodeSettings<S>(values);
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
  const rows = Object.entries(specs).map(([name, spec]) => {
    const value = spec.kind === 'boolean' ? '' : ` <${spec.kind === 'integer' ? 'n' : 'value'}>`;
    const fallback = defaultOf(spec);
    const standard = fallback === undefined || fallback === false ? '' : ` (default ${String(fallback)})`;
    return [`  --${name}${value}`, environmentName(name), `${spec.help}${standard}`] as const;
  });
  const width = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length));
  const [flagWidth, variableWidth] = [width(0), width(1)];
  return rows
    .map(([flag, variable, help]) => `${flag.padEnd(flagWidth)}  ${variable.padEnd(variableWidth)}  ${help}\n`)
    .join('');
}

export function environmentName(flag: string): string {
  return `HOLDFAST_${flag.toUpperCase().replaceAll('-', '_')}`;
}

function parseFlags(specs: SettingSpecs, argv: readonly string[]): Record<string, string | boolean | undefined> {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      { type: spec.kind === 'boolean' ? 'boolean' : 'string' } as const,
    ]),
  );
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    // The parser's sentence names the flag; what follows in it is advice about programming.
    const sentence = (error instanceof Error ? error.message : String(error)).split(/\. |\n/)[0] ?? '';
    throw badSetting(sentence.charAt(0).toLowerCase() + sentence.slice(1), error);
  }
}

function convert(name: string, spec: SettingSpec, raw: string | boolean): string | number | boolean {
  switch (spec.kind) {
    case 'boolean':
      if (raw === true || raw === 'true' || raw === '1') return true;
      if (raw === 'false' || raw === '0') return false;
      throw badSetting(`--${name} takes true or false, not "${raw}"`);
    case 'integer':
      return convertInteger(name, spec, String(raw));
    case 'string':
      return String(raw);
  }
}

function convertInteger(name: string, spec: SettingSpec & { kind: 'integer' }, raw: string): number {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = spec;
  const value = Number(raw);
  if (!/^-?\d+$/.test(raw) || value < min || value > max) {
    const low = spec.min === undefined ? '' : ` of at least ${min}`;
    const high = spec.max === undefined ? '' : ` and at most ${max}`;
    throw badSetting(`--${name} takes a whole number${low}${high}, not "${raw}"`);
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
    nextStep: 'Run with --help to see every setting with its environment variable and default.',
    exitCode: 2,
    cause,
  });
}
