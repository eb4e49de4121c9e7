import { FOLDED_CLASS_WEIGHT, NAMED_CLASS_RANGES, RANGES_PER_WEIGHT, WIDE_CLASS_WEIGHT } from './limits.ts';

/** What a pattern costs, found before it is compiled. */
export interface PatternSize {
  /** About the number of instructions of the compiled pattern. */
  readonly instructions: number;
  /** True for classes of hundreds of ranges, such as `\pL`. */
  readonly hasWideClasses: boolean;
  /** Work of compiling, in instructions. */
  readonly weight: number;
}

const NAMED_CLASS = /\\[pP]/g;
/** Ranges beyond ASCII: when case is ignored, each of their characters is looked up. */
const LONG_RANGE = /-(?:[^\0-\x7f]|\\x\{)/gu;
const IGNORES_CASE = /\(\?[a-zA-Z]*i/;

/** Reads a pattern in RE2 syntax. An invalid one has any size: compiling it fails at once. */
export function patternSize(source: string): PatternSize {
  const { instructions, ranges } = new Reader(source).read();
  const ignoresCase = IGNORES_CASE.test(source);
  const wide = countOf(NAMED_CLASS, source) + (ignoresCase ? countOf(LONG_RANGE, source) : 0);
  const classes = wide * (ignoresCase ? FOLDED_CLASS_WEIGHT : WIDE_CLASS_WEIGHT) + ranges / RANGES_PER_WEIGHT;
  const weight = source.length + instructions + Math.ceil(classes);
  return { instructions, hasWideClasses: wide > 0, weight };
}

const countOf = (what: RegExp, source: string): number => source.match(what)?.length ?? 0;

/** A part of a pattern: its instructions, the ranges of their classes, and by how much repeats inside it are multiplied. */
interface Part {
  readonly instructions: number;
  readonly ranges: number;
  readonly repeats: number;
}

/** A group that is not closed yet. `last` is the part that a repeat would repeat. */
interface Open {
  readonly captures: boolean;
  before: Part;
  last: Part;
}

const NOTHING: Part = { instructions: 0, ranges: 0, repeats: 1 };
const ONE: Part = { ...NOTHING, instructions: 1 };
const EITHER: Part = { ...NOTHING, instructions: 2 };
/** RE2 refuses larger repeats, also as a product of repeats inside one another. */
const REPEATS_MAX = 1_000;

const GROUP = /\((?:\?(?:P?<\w*>|[a-zA-Z-]*(?<end>[:)])))?/y;
const REPEAT = /\{(\d+)(,(\d*))?\}/y;
const ESCAPE = /\\(?:[pP](?:\{[^}\\]*\}|.)|x(?:\{[^}\\]*\}|..)|[0-7]{1,3}|.)/suy;
/** A bracket may stand first in its class, and names of classes are in brackets themselves. */
const CLASS = /\[\^?\]?(?:\\.|\[:\^?[a-z]{1,10}:\]|[^\]\\])*\]/suy;
const QUOTE = /\\Q(.*?)(?:\\E|$)/sy;

class Reader {
  readonly #source: string;
  readonly #open: Open[] = [];
  #at = 0;
  #in: Open = opened(false);

  constructor(source: string) {
    this.#source = source;
  }

  read(): Part {
    while (this.#at < this.#source.length) this.#step();
    while (this.#open.length > 0) this.#close();
    return together(this.#in.before, this.#in.last);
  }

  #step(): void {
    const char = this.#source.charAt(this.#at);
    switch (char) {
      case '(':
        return this.#group();
      case ')':
        this.#at += 1;
        return this.#close();
      case '|':
        return this.#part(1, EITHER);
      case '*':
      case '+':
      case '?':
        return this.#repeatEndlessly();
      case '{':
        return this.#repeat();
      case '[':
        return this.#class();
      case '\\':
        return this.#escape();
      default:
        return this.#part(1, ONE);
    }
  }

  #matched(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    return expression.exec(this.#source) ?? undefined;
  }

  #part(chars: number, part: Part): void {
    this.#at += chars;
    this.#in.before = together(this.#in.before, this.#in.last);
    this.#in.last = part;
  }

  /** One that does not end makes the whole pattern invalid. */
  #class(): void {
    const text = this.#matched(CLASS)?.[0];
    if (text === undefined) this.#at = this.#source.length;
    else this.#part(text.length, { ...ONE, ranges: text.length + countOf(NAMED_CLASS, text) * NAMED_CLASS_RANGES });
  }

  #group(): void {
    const group = this.#matched(GROUP);
    const end = group?.groups?.['end'];
    const chars = group?.[0].length ?? 1;
    // Flags alone are no part: a repeat after them repeats the part before.
    if (end === ')') {
      this.#at += chars;
      return;
    }
    this.#part(chars, NOTHING);
    this.#open.push(this.#in);
    this.#in = opened(end === undefined);
  }

  #close(): void {
    const above = this.#open.pop();
    if (above === undefined) return;
    const group = together(this.#in.before, this.#in.last);
    const own = this.#in.captures ? 2 : 0;
    this.#in = above;
    this.#in.last = { ...group, instructions: Math.max(1, group.instructions + own) };
  }

  #repeatEndlessly(): void {
    this.#at += 1;
    this.#in.last = together(this.#in.last, EITHER);
  }

  #repeat(): void {
    const found = this.#matched(REPEAT);
    if (found === undefined) return this.#part(1, ONE);
    const { instructions, ranges, repeats } = this.#in.last;
    const least = Number(found[1]);
    const isOpen = found[2] !== undefined && found[3] === '';
    const most = Math.max(1, least, found[3] === undefined ? 0 : Number(found[3]));
    const product = most * repeats;
    this.#at += found[0].length;
    if (product > REPEATS_MAX) return;
    const sum = most * instructions + (isOpen ? 2 : most - least);
    this.#in.last = { instructions: sum, ranges: most * ranges, repeats: product };
  }

  #escape(): void {
    const quote = this.#matched(QUOTE);
    if (quote === undefined) {
      const text = this.#matched(ESCAPE)?.[0] ?? '\\';
      const ranges = /^\\[pP]/.test(text) ? NAMED_CLASS_RANGES : 0;
      return this.#part(text.length, { ...ONE, ranges });
    }
    for (const _ of quote[1] ?? '') this.#part(0, ONE);
    this.#at += quote[0].length;
  }
}

const opened = (captures: boolean): Open => ({ captures, before: NOTHING, last: NOTHING });

const together = (a: Part, b: Part): Part => ({
  instructions: a.instructions + b.instructions,
  ranges: a.ranges + b.ranges,
  repeats: Math.max(a.repeats, b.repeats),
});
