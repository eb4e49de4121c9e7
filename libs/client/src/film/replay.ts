import type { HistoryChange } from '../history/documents.ts';

export type Difference = NonNullable<HistoryChange['diff']>[number];
type Container = Record<string, unknown>;

/** Applies what the history says to differ, in place. What does not fit is skipped: a long difference is cut. */
export function applyDifferences(document: object, differences: readonly Difference[]): void {
  for (const { op, path, value } of differences) {
    const keys = path.split('/').slice(1).map(unescaped);
    const last = keys.pop();
    const parent = last === undefined ? undefined : containerAt(document, keys);
    if (parent === undefined || last === undefined || last === '__proto__') continue;
    if (op === 'remove') remove(parent, last);
    else parent[last] = structuredClone(value);
  }
}

/** Makes objects on the way: of an object that was created, only the changes may be known. */
function containerAt(document: object, keys: readonly string[]): Container | undefined {
  let at = document as Container;
  for (const key of keys) {
    if (key === '__proto__') return undefined;
    if (!Object.hasOwn(at, key)) at[key] = {};
    const next = at[key];
    if (typeof next !== 'object' || next === null) return undefined;
    at = next as Container;
  }
  return at;
}

/** Lists are compared by position, so what is removed of one is its end. */
function remove(parent: Container, key: string): void {
  if (Array.isArray(parent)) parent.length = Math.min(parent.length, Number(key));
  else delete parent[key];
}

const unescaped = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~');
