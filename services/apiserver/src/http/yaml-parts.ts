import { stringifyYaml } from './yaml.ts';

/** Values printed in one go: about two milliseconds. */
const VALUES_AT_ONCE = 200;
const INDENT = '  ';

/** The text of a value in YAML, the same as at once but for where long lines are folded, in parts of whole lines that each take little time. */
export function* yamlParts(value: unknown): Generator<string> {
  if (isSmall(value)) yield stringifyYaml(value);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfMap(Object.entries(value as object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function* partsOfList(items: readonly unknown[]): Generator<string> {
  let gathered: unknown[] = [];
  for (const item of items) {
    if (isSmall(item)) {
      gathered.push(item);
      if (gathered.length < VALUES_AT_ONCE) continue;
    }
    if (gathered.length > 0) yield stringifyYaml(gathered);
    gathered = [];
    if (!isSmall(item)) yield* withDash(yamlParts(item));
  }
  if (gathered.length > 0) yield stringifyYaml(gathered);
}

function* withDash(parts: Iterable<string>): Generator<string> {
  let isFirst = true;
  for (const part of parts) {
    const lines = indented(part);
    yield isFirst ? `- ${lines.slice(INDENT.length)}` : lines;
    isFirst = false;
  }
}

function* partsOfMap(entries: readonly (readonly [string, unknown])[]): Generator<string> {
  let gathered: (readonly [string, unknown])[] = [];
  const printed = (): string => stringifyYaml(Object.fromEntries(gathered));
  for (const entry of entries) {
    if (isSmall(entry[1])) {
      gathered.push(entry);
      if (gathered.length < VALUES_AT_ONCE) continue;
    }
    if (gathered.length > 0) yield printed();
    gathered = [];
    if (!isSmall(entry[1])) yield* partsOfEntry(entry);
  }
  if (gathered.length > 0) yield printed();
}

function* partsOfEntry([key, value]: readonly [string, unknown]): Generator<string> {
  const named = stringifyYaml({ [key]: null });
  // A key that is too long for one line stands in a form of its own.
  if (!named.endsWith(EMPTY)) {
    yield stringifyYaml({ [key]: value });
    return;
  }
  yield `${named.slice(0, -EMPTY.length)}:\n`;
  // Lists stand as far left as their names.
  for (const part of yamlParts(value)) yield Array.isArray(value) ? part : indented(part);
}

const EMPTY = ': null\n';

const indented = (lines: string): string => lines.replace(/^(?=[^\n])/gm, INDENT);

function isSmall(value: unknown): boolean {
  return countUpTo(value, VALUES_AT_ONCE) < VALUES_AT_ONCE;
}

/** How many values there are in a value, at most `most`. */
function countUpTo(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const key in value) {
    count += countUpTo((value as Readonly<Record<string, unknown>>)[key], most - count);
    if (count >= most) return count;
  }
  return count;
}
