import { semanticEqual } from '@holdfast/machinery';

/** The fields that differ, one line each: what was (-) and what was asked for (+). */
export function specDiff(old: object, changed: object): string {
  const before = new Map<string, unknown>(Object.entries(old));
  const after = new Map<string, unknown>(Object.entries(changed));
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  const lines = names
    .filter((name) => !semanticEqual(before.get(name), after.get(name)))
    .flatMap((name) => [line('-', name, before.get(name)), line('+', name, after.get(name))]);
  return `${lines.join('\n')}\n`;
}

const line = (sign: string, name: string, value: unknown): string =>
  `${sign} ${name}: ${value === undefined ? 'nil' : JSON.stringify(value)}`;
