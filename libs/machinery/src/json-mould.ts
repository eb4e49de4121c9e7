import { deepFreeze } from './deep.ts';
import { isJsonArray, isJsonObject, type Json, type JsonObject, type MutableJsonObject, setOwn } from './json.ts';
import { MOULD_GAPS_MAX } from './limits.ts';

const BACKSLASH = 0x5c;
const COLON = 0x3a;
const QUOTE = 0x22;

/** Begins the strings of the template that are gaps. A JSON text can only contain it as this escape. */
const MARK = '\u0001';
const MARK_ESCAPE = '\\u0001';

/** A part of the template that contains gaps. Parts without gaps are shared by all values. */
type Part = ItemsPart | MembersPart;

interface ItemsPart {
  readonly items: readonly Json[];
  readonly gaps: readonly (readonly [at: number, gap: number])[];
  readonly parts: readonly (readonly [at: number, part: Part])[];
  /** What was made last: the next value often is equal, in times for example. */
  last?: readonly Json[];
}

interface MembersPart {
  readonly members: Readonly<Record<string, Json>>;
  readonly gaps: readonly (readonly [key: string, gap: number])[];
  readonly parts: readonly (readonly [key: string, part: Part])[];
  last?: JsonObject;
}

/**
 * Parses JSON texts that differ only in some of their string values, which is what objects of one owner do. It compares
 * the text between these gaps instead of parsing it, and all values share the parts of the template without gaps.
 *
 * A text that fits gives the same value as `JSON.parse`, deep-frozen. This holds for every text, because outside the gaps
 * it equals a text that was parsed, and the text of a gap is parsed as a string.
 */
export class JsonMould {
  readonly #sample: string;
  /** Where the gaps begin in the sample, behind their opening quotes. */
  readonly #gaps: readonly number[];
  /** What stands around the gaps, quotes included: one more than there are gaps. */
  readonly #walls: readonly string[];
  /** Made for the first text that fits. */
  #template: Part | undefined;

  private constructor(sample: string, gaps: readonly number[]) {
    this.#sample = sample;
    this.#gaps = gaps;
    this.#walls = wallsOf(sample, gaps);
  }

  /** A mould that only this text fits. */
  static of(sample: string): JsonMould {
    return new JsonMould(sample, []);
  }

  /** Returns a mould that fits this text too, or `undefined` when they differ in more than string values. */
  widened(text: string): JsonMould | undefined {
    const gaps = gapsBetween(this.#sample, text, new Set(this.#gaps));
    if (gaps === undefined || gaps.length > MOULD_GAPS_MAX) return undefined;
    const mould = new JsonMould(this.#sample, gaps);
    return mould.#prepare() ? mould : undefined;
  }

  /** Returns the deep-frozen value of the text, or `undefined` when it does not fit. */
  parse(text: string): unknown {
    if (this.#template === undefined) return undefined;
    const walls = this.#walls;
    const [first = ''] = walls;
    if (text.slice(0, first.length) !== first) return undefined;
    let at = first.length;
    let strings = '[';
    for (let i = 1; i < walls.length; i++) {
      const wall = walls[i] ?? '';
      const end = text.indexOf('"', at);
      if (end < 0 || text.charCodeAt(end - 1) === BACKSLASH) return undefined;
      // Several times faster than `startsWith`.
      if (text.slice(end, end + wall.length) !== wall) return undefined;
      strings += i === 1 ? text.slice(at - 1, end + 1) : `,${text.slice(at - 1, end + 1)}`;
      at = end + wall.length;
    }
    if (at !== text.length) return undefined;
    // Parsing copies them: a slice would keep the whole text in memory.
    return filled(this.#template, JSON.parse(`${strings}]`) as readonly string[]);
  }

  /** False when the gaps are not values of the template: keys of a text with spaces, or values that a later key hides. */
  #prepare(): boolean {
    if (this.#sample.includes(MARK_ESCAPE)) return false;
    const marked = this.#walls.map((wall, i) => (i === 0 ? wall : `${MARK_ESCAPE}${i - 1}${wall}`)).join('');
    this.#template = partOf(JSON.parse(marked) as Json);
    return this.#template !== undefined && countGaps(this.#template) === this.#gaps.length;
  }
}

function wallsOf(sample: string, gaps: readonly number[]): readonly string[] {
  const walls: string[] = [];
  let from = 0;
  for (const gap of gaps) {
    walls.push(sample.slice(from, gap));
    from = stringEnd(sample, gap);
  }
  return [...walls, sample.slice(from)];
}

/** The closing quote of a string whose content begins at `from`. */
function stringEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

/** Where strings of `sample` begin that are gaps or differ in `text`; `undefined` when something else differs. */
function gapsBetween(sample: string, text: string, known: ReadonlySet<number>): readonly number[] | undefined {
  const gaps: number[] = [];
  let at = 0;
  let other = 0;
  while (at < sample.length) {
    const code = sample.charCodeAt(at);
    if (code !== text.charCodeAt(other)) return undefined;
    at++;
    other++;
    if (code !== QUOTE) continue;
    const end = stringEnd(sample, at);
    const otherEnd = stringEnd(text, other);
    if (known.has(at) || !isSameString({ text: sample, at, end }, { text, at: other, end: otherEnd })) {
      // Keys decide what the value is.
      if (sample.charCodeAt(end + 1) === COLON || text.charCodeAt(otherEnd + 1) === COLON) return undefined;
      gaps.push(at);
    }
    at = end + 1;
    other = otherEnd + 1;
    if (text.charCodeAt(otherEnd) !== QUOTE) return undefined;
  }
  return other === text.length ? gaps : undefined;
}

interface Place {
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

const isSameString = (a: Place, b: Place): boolean =>
  a.end - a.at === b.end - b.at && a.text.slice(a.at, a.end) === b.text.slice(b.at, b.end);

/** `undefined` for a value without gaps. */
function partOf(value: Json): Part | undefined {
  if (isJsonArray(value)) {
    const found = findGaps(value.entries());
    return found === undefined ? undefined : { items: value, ...found };
  }
  if (!isJsonObject(value)) return undefined;
  const found = findGaps(Object.entries(value));
  return found === undefined ? undefined : { members: value, ...found };
}

interface Found<K> {
  readonly gaps: readonly (readonly [K, number])[];
  readonly parts: readonly (readonly [K, Part])[];
}

function findGaps<K>(children: Iterable<readonly [K, Json]>): Found<K> | undefined {
  const gaps: [K, number][] = [];
  const parts: [K, Part][] = [];
  for (const [key, child] of children) {
    const gap = typeof child === 'string' && child.startsWith(MARK) ? Number(child.slice(MARK.length)) : undefined;
    const part = gap === undefined ? partOf(child) : undefined;
    if (gap !== undefined) gaps.push([key, gap]);
    else if (part !== undefined) parts.push([key, part]);
    else deepFreeze(child);
  }
  return gaps.length + parts.length === 0 ? undefined : { gaps, parts };
}

function countGaps({ gaps, parts }: Part): number {
  let count = gaps.length;
  for (const [, part] of parts) count += countGaps(part);
  return count;
}

function filled(part: Part, strings: readonly string[]): Json {
  return 'items' in part ? filledItems(part, strings) : filledMembers(part, strings);
}

function filledItems(part: ItemsPart, strings: readonly string[]): readonly Json[] {
  const { items, gaps, parts, last } = part;
  const copy = items.slice();
  for (const [at, gap] of gaps) copy[at] = strings[gap] ?? null;
  for (const [at, child] of parts) copy[at] = filled(child, strings);
  const isNew =
    last === undefined || gaps.some(([at]) => copy[at] !== last[at]) || parts.some(([at]) => copy[at] !== last[at]);
  if (!isNew) return last;
  part.last = Object.freeze(copy);
  return part.last;
}

function filledMembers(part: MembersPart, strings: readonly string[]): Json {
  const { members, gaps, parts, last } = part;
  const copy: MutableJsonObject = { ...members };
  for (const [key, gap] of gaps) setOwn(copy, key, strings[gap] ?? null);
  for (const [key, child] of parts) setOwn(copy, key, filled(child, strings));
  const isNew =
    last === undefined ||
    gaps.some(([key]) => copy[key] !== last[key]) ||
    parts.some(([key]) => copy[key] !== last[key]);
  if (!isNew) return last;
  part.last = Object.freeze(copy);
  return part.last;
}
