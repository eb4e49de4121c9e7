import { stringifyYaml } from './yaml.ts';

/** Values printed in one go: about two milliseconds. */
const VALUES_AT_ONCE = 200;
const INDENT = '  ';

/**
 * Yields the YAML text of a value in short parts of whole lines. It equals the text of one call, except for the folding
 * of long lines.
 */
export function* yamlParts(value: unknown): Generator<string> {
  if (isSmall(value)) yield stringifyYaml(value);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfMap(Object.entries(value as object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The same for an object one member of which is a list whose items are made when their turn comes. */
export function* yamlPartsOfMembers(head: object, { name, members }: NamedMembers): Generator<string> {
  const others = Object.entries(head).filter(([key]) => key !== name);
  const before = others.filter(([key]) => key < name);
  const after = others.filter(([key]) => key > name);
  if (before.length > 0) yield* yamlParts(Object.fromEntries(before));
  let isEmpty = true;
  for (const part of partsOfList(members)) {
    if (isEmpty) yield `${name}:\n`;
    isEmpty = false;
    yield part;
  }
  if (isEmpty) yield `${name}: []\n`;
  if (after.length > 0) yield* yamlParts(Object.fromEntries(after));
}

export interface NamedMembers {
  readonly name: string;
  readonly members: Iterable<unknown>;
}

function* partsOfList(items: Iterable<unknown>): Generator<string> {
  let gathered: unknown[] = [];
  let cost = 0;
  for (const item of items) {
    if (isSmall(item)) {
      gathered.push(item);
      cost += costOf(item);
      if (cost < VALUES_AT_ONCE) continue;
    }
    if (gathered.length > 0) yield stringifyYaml(gathered);
    gathered = [];
    cost = 0;
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
  let cost = 0;
  const printed = (): string => stringifyYaml(Object.fromEntries(gathered));
  for (const entry of entries) {
    if (isSmall(entry[1])) {
      gathered.push(entry);
      cost += costOf(entry[1]);
      if (cost < VALUES_AT_ONCE) continue;
    }
    if (gathered.length > 0) yield printed();
    gathered = [];
    cost = 0;
    if (!isSmall(entry[1])) yield* partsOfEntry(entry);
  }
  if (gathered.length > 0) yield printed();
}

function* partsOfEntry([key, value]: readonly [string, unknown]): Generator<string> {
  const named = stringifyYaml({ [key]: null });
  // A key that is too long for one line has a special form.
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

/** The cost of a small value, in values: a long text counts as several. */
function costOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / CHARS_PER_VALUE;
  if (typeof value !== 'object' || value === null) return 1;
  let cost = 1;
  for (const key in value) cost += costOf((value as Readonly<Record<string, unknown>>)[key]);
  return cost;
}

const CHARS_PER_VALUE = 500;

function isSmall(value: unknown): boolean {
  return countUpTo(value, VALUES_AT_ONCE) < VALUES_AT_ONCE;
}

/** Counts the values in a value, up to `most`. */
function countUpTo(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const key in value) {
    count += countUpTo((value as Readonly<Record<string, unknown>>)[key], most - count);
    if (count >= most) return count;
  }
  return count;
}
