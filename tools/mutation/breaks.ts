import { existsSync, globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';

/** One small change of the code that breaks the sentence of a requirement. */
export interface Break {
  readonly id: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Test files that must notice: each has a test whose title carries the id. */
  readonly tests: readonly string[];
}

/** A requirement that no small change can break, or whose breaks change nothing that can be observed. */
export interface Unbreakable {
  readonly id: string;
  readonly none: string;
}

export type Row = Break | Unbreakable;

export const isBreak = (row: Row): row is Break => !('none' in row);

export const BREAKS = 'tools/mutation/breaks';
const REQUIREMENTS = 'tools/mutation/requirements.json';

export const prefixOf = (id: string): string => id.replace(/-\d+$/, '');

/** Every requirement, in the order of the specification. */
export function readRequirements(root: string): readonly string[] {
  const counts = JSON.parse(readFileSync(path.join(root, REQUIREMENTS), 'utf8')) as Record<string, number>;
  return Object.entries(counts).flatMap(([prefix, count]) =>
    Array.from({ length: count }, (_, at) => `${prefix}-${String(at + 1).padStart(2, '0')}`),
  );
}

/** The rows of every file of breaks, sorted by requirement. */
export function readRows(root: string): readonly Row[] {
  const order = new Map(readRequirements(root).map((id, at) => [id, at]));
  return globSync(`${BREAKS}/*.json`, { cwd: root })
    .flatMap((file) => JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Row[])
    .toSorted((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}

/** Finds the tests of a requirement by their titles. */
export const titlePattern = (ids: readonly string[]): RegExp =>
  new RegExp(String.raw`\[[^\]\n]*\b(?:${ids.join('|')})\b[^\]\n]*\]`);

export type Applied = { readonly original: string; readonly text: string } | { readonly refused: string };

/** The file with the change in it, or why it cannot be made. */
export function applyBreak(root: string, { file, find, replace }: Break): Applied {
  if (!existsSync(path.join(root, file))) return { refused: `${file} does not exist` };
  const original = readFileSync(path.join(root, file), 'utf8');
  const [before, after, ...more] = original.split(find);
  if (before === undefined || after === undefined) return { refused: `${file} does not contain: ${find}` };
  if (more.length > 0) return { refused: `${file} contains ${more.length + 1} times: ${find}` };
  if (find === replace) return { refused: `${file}: the replacement changes nothing: ${find}` };
  return { original, text: `${before}${replace}${after}` };
}

/** Returns the faults of a row. Reads only the files; runs nothing. */
export function checkRow(root: string, row: Row): readonly string[] {
  if (!isBreak(row)) return row.none.trim() === '' ? [`${row.id} has no breaks and no reason`] : [];
  const problems = row.tests.length === 0 ? [`${row.id} names no test file: ${row.find}`] : [];
  const applied = applyBreak(root, row);
  if ('refused' in applied) problems.push(`${row.id}: ${applied.refused}`);
  else problems.push(...syntaxProblems(row, applied.text));
  for (const test of row.tests) {
    if (!existsSync(path.join(root, test))) problems.push(`${row.id}: ${test} does not exist`);
    else if (!titlePattern([row.id]).test(readFileSync(path.join(root, test), 'utf8')))
      problems.push(`${row.id}: no test of ${test} has the id in its title`);
  }
  return problems;
}

/** A file that cannot be read fails every test that imports it, and so proves nothing. */
function syntaxProblems({ id, find, file }: Break, text: string): readonly string[] {
  if (!file.endsWith('.ts')) return [];
  try {
    stripTypeScriptTypes(text);
    return [];
  } catch (error) {
    return [`${id}: ${file} is no TypeScript after the change of: ${find} (${String(error).split('\n')[0]})`];
  }
}
