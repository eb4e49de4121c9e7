export interface ColourWish {
  /** The flag --no-color was given. */
  readonly noColor: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
}

/** The words with which FORCE_COLOR asks for none. */
const NO_FORCE: ReadonlySet<string> = new Set(['0', 'false']);

/** The flag wins over FORCE_COLOR, that over NO_COLOR, and that over what the output is. An empty NO_COLOR is none. */
export function wantsColours({ noColor, env, isTerminal }: ColourWish): boolean {
  if (noColor) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return !NO_FORCE.has(force);
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  return isTerminal && env['TERM'] !== 'dumb';
}

export const NO_COLOR_FLAG = '--no-color';

/** Takes the flag out of the arguments of any command; what follows `--` belongs to another program. */
export function takeNoColor(argv: readonly string[]): { readonly noColor: boolean; readonly rest: readonly string[] } {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  const rest = own.filter((word) => word !== NO_COLOR_FLAG);
  return { noColor: rest.length < own.length, rest: [...rest, ...argv.slice(own.length)] };
}
