/** String functions by code points: expressions count characters, JavaScript counts UTF-16 units. */
const SURROGATE = /[\ud800-\udfff]/;

function isPlain(text: string): boolean {
  return !SURROGATE.test(text);
}

export function charCount(text: string): number {
  if (isPlain(text)) return text.length;
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Returns the substring between two positions in code points. */
export function sliceChars(text: string, start: number, end: number): string {
  if (isPlain(text)) return text.slice(start, end);
  const rest = text.slice(unitOffset(text, start));
  return rest.slice(0, unitOffset(rest, end - start));
}

/** Returns the first position of the search string at or after `from`; -1 when there is none. */
export function indexOfChars(text: string, search: string, from: number): number {
  if (isPlain(text)) return text.indexOf(search, from);
  const unit = text.indexOf(search, unitOffset(text, from));
  return unit === -1 ? -1 : charCount(text.slice(0, unit));
}

/** Returns the last position of the search string at or before `from`. */
export function lastIndexOfChars(text: string, search: string, from: number): number {
  if (isPlain(text)) return text.lastIndexOf(search, from);
  const unit = text.lastIndexOf(search, unitOffset(text, from));
  return unit === -1 ? -1 : charCount(text.slice(0, unit));
}

function unitOffset(text: string, chars: number): number {
  let units = 0;
  let left = chars;
  for (const char of text) {
    if (left === 0) break;
    left -= 1;
    units += char.length;
  }
  return units;
}
