/** Keywords that cannot be names of fields. */
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const SEQUENCES: ReadonlyMap<string, string> = new Map([
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
]);

/** Returns the name of a property in expressions: `x-y` becomes `x__dash__y`. `undefined` when it has none. */
export function escapeName(name: string): string | undefined {
  if (name === '' || /^\d/.test(name) || /[^A-Za-z0-9_./-]/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[./-]/g, (found) => SEQUENCES.get(found) ?? found);
}
