import { FOLDED_CLASS_WEIGHT, WIDE_CLASS_WEIGHT } from './limits.ts';

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
  const instructions = new Reader(source).read();
  const ignoresCase = IGNORES_CASE.test(source);
  const wide = countOf(NAMED_CLASS, source) + (ignoresCase ? countOf(LONG_RANGE, source) : 0);
  const weight = source.length + instructions + wide * (ignoresCase ? FOLDED_CLASS_WEIGHT : WIDE_CLASS_WEIGHT);
  return { instructions, hasWideClasses: wide > 0, weight };
}

const countOf = (what: RegExp, source: string): number => source.match(what)?.length ?? 0;

/** A part of a pattern: its instructions, and by how much repeats inside it are multiplied. */
interface Part {
  readonly instructions: number;
  readonly repeats: number;
}

/** A group that is not closed yet. `last` is the part that a repeat would repeat. */
interface Open {
  readonly captures: boolean;
  sum: number;
  repeats: number;
  last: Part;
}

const ONE: Part = { instructions: 1, repeats: 1 };
const NOTHING: Part = { instructions: 0, repeats: 1 };
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

  read(): number {
    while (this.#at < this.#source.length) this.#step();
    while (this.#open.length > 0) this.#close();
    return sumOf(this.#in).instructions;
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
        return this.#part(1, { instructions: 2, repeats: 1 });
      case '*':
      case '+':
      case '?':
        return this.#repeatEndlessly();
      case '{':
        return this.#repeat();
      case '[':
        // A class that does not end makes the whole pattern invalid.
        return this.#part(this.#matched(CLASS)?.[0].length ?? this.#source.length, ONE);
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
    this.#in.sum += this.#in.last.instructions;
    this.#in.repeats = Math.max(this.#in.repeats, this.#in.last.repeats);
    this.#in.last = part;
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
    const { instructions, repeats } = sumOf(this.#in);
    const own = this.#in.captures ? 2 : 0;
    this.#in = above;
    this.#in.last = { instructions: Math.max(1, instructions + own), repeats };
  }

  #repeatEndlessly(): void {
    const { instructions, repeats } = this.#in.last;
    this.#at += 1;
    this.#in.last = { instructions: instructions + 2, repeats };
  }

  #repeat(): void {
    const found = this.#matched(REPEAT);
    if (found === undefined) return this.#part(1, ONE);
    const { instructions, repeats } = this.#in.last;
    const least = Number(found[1]);
    const isOpen = found[2] !== undefined && found[3] === '';
    const most = Math.max(1, least, found[3] === undefined ? 0 : Number(found[3]));
    const product = most * repeats;
    this.#at += found[0].length;
    if (product > REPEATS_MAX) return;
    this.#in.last = { instructions: most * instructions + (isOpen ? 2 : most - least), repeats: product };
  }

  #escape(): void {
    const quote = this.#matched(QUOTE);
    if (quote === undefined) return this.#part(this.#matched(ESCAPE)?.[0].length ?? 1, ONE);
    for (const _ of quote[1] ?? '') this.#part(0, ONE);
    this.#at += quote[0].length;
  }
}

const opened = (captures: boolean): Open => ({ captures, sum: 0, repeats: 1, last: NOTHING });

const sumOf = ({ sum, repeats, last }: Open): Part => ({
  instructions: sum + last.instructions,
  repeats: Math.max(repeats, last.repeats),
});
