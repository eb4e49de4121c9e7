import { badOption } from '../options.ts';

/** One flag of a program that envtest starts. */
export interface FlagSpec {
  readonly name: string;
  readonly help: string;
  /** It stands without a value. */
  readonly isSwitch?: true;
}

export interface Flags {
  /** The last value counts. */
  readonly values: ReadonlyMap<string, string>;
  /** Flags without a meaning here. */
  readonly ignored: readonly string[];
}

/**
 * Reads flags as Go programs take them: `--name=value`, `--name value`, `--name` for a switch. Flags that are not in the list are ignored, so
 * that a suite with special settings starts.
 */
export function readFlags(specs: readonly FlagSpec[], argv: readonly string[]): Flags {
  const known = new Map(specs.map((spec) => [spec.name, spec]));
  const values = new Map<string, string>();
  const ignored: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const [, name, , given] = /^--?([a-zA-Z][\w.-]*)(=(.*))?$/s.exec(argv[i] ?? '') ?? [];
    if (name === undefined) throw badOption(`"${argv[i]}" is not a flag`, 'Write --name=value.');
    const next = argv[i + 1];
    const takesNext = given === undefined && known.get(name)?.isSwitch !== true && next?.startsWith('-') === false;
    if (takesNext) i += 1;
    if (known.has(name)) values.set(name, given ?? (takesNext ? (next ?? '') : 'true'));
    else ignored.push(name);
  }
  return { values, ignored };
}

/** In the form in which envtest looks for a flag: two dashes at the begin of a line. */
export const describeFlags = (program: string, specs: readonly FlagSpec[]): string =>
  [
    `${program} of Holdfast, for envtest. Other flags are ignored.`,
    '',
    ...specs.map(({ name, help }) => `      --${name.padEnd(34)} ${help}`),
  ].join('\n');

/** Throws an `OperatorError` that names the flag. */
export function portIn(flag: string, text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw badOption(`--${flag} has to be a port, not "${text}"`, 'Give a number from 0 to 65535.');
}
