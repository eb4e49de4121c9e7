import type { JsonDifference } from '@holdfast/client/history-documents';

export interface JsonDiff {
  readonly differences: readonly JsonDifference[];
  /** There are more. */
  readonly isCut: boolean;
}

/** The differences of two JSON values in document order, at most `most`. Lists are compared by position. */
export function diffJson(before: unknown, after: unknown, { most, skip }: DiffOptions): JsonDiff {
  const differences: JsonDifference[] = [];
  for (const each of differencesOf(before, after, { path: '', skip })) {
    if (differences.length === most) return { differences, isCut: true };
    differences.push(each);
  }
  return { differences, isCut: false };
}

export interface DiffOptions {
  readonly most: number;
  /** Pointers of what is not compared. */
  readonly skip: ReadonlySet<string>;
}

interface Place {
  readonly path: string;
  readonly skip: ReadonlySet<string>;
}

function* differencesOf(before: unknown, after: unknown, place: Place): Iterable<JsonDifference> {
  const { path, skip } = place;
  if (before === after || skip.has(path)) return;
  if (Array.isArray(before) && Array.isArray(after)) yield* ofMembers(Object.entries(before), after, place);
  else if (isRecord(before) && isRecord(after)) yield* ofMembers(Object.entries(before), after, place);
  else yield { op: 'replace', path, from: before, value: after };
}

function* ofMembers(
  before: readonly (readonly [string, unknown])[],
  after: object,
  { path, skip }: Place,
): Iterable<JsonDifference> {
  const known = new Set<string>();
  for (const [key, value] of before) {
    known.add(key);
    const at = `${path}/${escaped(key)}`;
    if (Object.hasOwn(after, key)) yield* differencesOf(value, Reflect.get(after, key), { path: at, skip });
    else if (!skip.has(at)) yield { op: 'remove', path: at, from: value };
  }
  for (const [key, value] of Object.entries(after)) {
    const at = `${path}/${escaped(key)}`;
    if (!known.has(key) && !skip.has(at)) yield { op: 'add', path: at, value };
  }
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
