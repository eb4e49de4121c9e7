import { appendFileSync, readFileSync } from 'node:fs';

/** One JSON document a line. */
export const appendLine = (file: string, document: unknown): void =>
  appendFileSync(file, `${JSON.stringify(document)}\n`);

export function readLines<T>(file: string): readonly T[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line): T => JSON.parse(line));
}
