/**
 * Optional entries of literals: `[?x]` and `{?k: v}`. The grammar of the library lacks them. This module replaces their
 * question mark with a mark of the same length that the grammar parses: a negation. It takes exactly the operand that
 * follows, so the tree is right once the reader leaves it out.
 */
export interface MarkedSource {
  readonly text: string;
  /** Where the question marks were. */
  readonly marks: ReadonlySet<number>;
}

const MARK = '!';

export function markOptionalEntries(source: string): MarkedSource {
  const marks = new Set<number>();
  if (!source.includes('?')) return { text: source, marks };
  let text = '';
  let copied = 0;
  for (const at of optionalMarks(source)) {
    text += source.slice(copied, at) + MARK;
    copied = at + 1;
    marks.add(at);
  }
  return { text: text + source.slice(copied), marks };
}

const TOKEN = /\s+|\/\/[^\n]*|(?<quote>"""|'''|"|')|(?<word>[\p{L}\p{N}_]+)|(?<sign>[\s\S])/uy;

/** A question mark is one when it follows the bracket or a comma of a list or map literal. */
function* optionalMarks(source: string): Generator<number> {
  const open: ('literal' | 'other')[] = [];
  let previous: 'operand' | 'start' | 'other' = 'other';
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(source); match !== null; match = TOKEN.exec(source)) {
    const { quote, word, sign } = match.groups ?? {};
    if (quote !== undefined) {
      TOKEN.lastIndex = stringEnd(source, TOKEN.lastIndex, quote);
      previous = 'operand';
    } else if (word !== undefined) previous = word === 'in' ? 'other' : 'operand';
    else if (sign !== undefined) {
      if (sign === '?' && previous === 'start') yield match.index;
      if ('[{('.includes(sign)) open.push(isLiteral(sign, previous) ? 'literal' : 'other');
      if (')]}'.includes(sign)) open.pop();
      previous = after(sign, open.at(-1));
    }
  }
}

const isLiteral = (sign: string, previous: string): boolean => sign !== '(' && previous !== 'operand';

function after(sign: string, within: 'literal' | 'other' | undefined): 'operand' | 'start' | 'other' {
  if (')]}'.includes(sign)) return 'operand';
  return within === 'literal' && '[{,'.includes(sign) ? 'start' : 'other';
}

/** Skips an escaped quote also in a raw string, as the grammar does. */
function stringEnd(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at++) {
    if (source.startsWith(quote, at)) return at + quote.length;
    if (source.charAt(at) === '\\') at += 1;
  }
  return source.length;
}
