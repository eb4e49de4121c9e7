/**
 * What the grammar of the library lacks or misreads, replaced by something of the same length that it parses:
 * - Optional entries of literals, `[?x]` and `{?k: v}`: the question mark becomes a negation. It takes exactly the
 *   operand that follows, so the tree is right once the reader leaves it out.
 * - Raw strings, `r'\\'`: the grammar takes a backslash and the quote behind it for one character. Their backslashes
 *   become letters; the reader takes the value from the original text.
 */
export interface MarkedSource {
  readonly text: string;
  /** Where the question marks were. */
  readonly marks: ReadonlySet<number>;
  /** The values of raw strings by the places of their prefixes. */
  readonly rawStrings: ReadonlyMap<number, string>;
}

const MARK = '!';
const LETTER = '_';

export function markSource(source: string): MarkedSource {
  const marks = new Set<number>();
  const rawStrings = new Map<number, string>();
  if (!source.includes('?') && !RAW_PREFIX.test(source)) return { text: source, marks, rawStrings };
  let text = '';
  let copied = 0;
  const replace = (from: number, by: string): void => {
    text += source.slice(copied, from) + by;
    copied = from + by.length;
  };
  for (const finding of findings(source)) {
    if (finding.kind === 'optional') {
      replace(finding.at, MARK);
      marks.add(finding.at);
    } else {
      const { at, quote, end } = finding;
      const from = at + 1 + quote.length;
      const value = source.slice(from, end);
      replace(from, value.replaceAll('\\', LETTER));
      rawStrings.set(at, value);
    }
  }
  return { text: text + source.slice(copied), marks, rawStrings };
}

const RAW_PREFIX = /[rR]['"]/;

type Finding =
  | { readonly kind: 'optional'; readonly at: number }
  /** `end`: the place of the closing quote. */
  | { readonly kind: 'raw'; readonly at: number; readonly quote: string; readonly end: number };

const TOKEN = /\s+|\/\/[^\n]*|(?<quote>"""|'''|"|')|(?<word>[\p{L}\p{N}_]+)|(?<sign>[\s\S])/uy;

/** A question mark is optional when it follows the bracket or a comma of a list or map literal. */
function* findings(source: string): Generator<Finding> {
  const open: ('literal' | 'other')[] = [];
  let previous: 'operand' | 'start' | 'other' = 'other';
  let prefix = -1;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(source); match !== null; match = TOKEN.exec(source)) {
    const { quote, word, sign } = match.groups ?? {};
    if (quote !== undefined) {
      const isRaw = prefix !== -1 && prefix === match.index - 1;
      const end = stringEnd(source, TOKEN.lastIndex, { quote, isRaw });
      if (isRaw) yield { kind: 'raw', at: prefix, quote, end };
      TOKEN.lastIndex = end + quote.length;
      previous = 'operand';
    } else if (word !== undefined) {
      previous = word === 'in' ? 'other' : 'operand';
      prefix = word === 'r' || word === 'R' ? match.index : -1;
    } else if (sign !== undefined) {
      if (sign === '?' && previous === 'start') yield { kind: 'optional', at: match.index };
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

/** The place of the closing quote. */
function stringEnd(
  source: string,
  from: number,
  { quote, isRaw }: { readonly quote: string; readonly isRaw: boolean },
): number {
  for (let at = from; at < source.length; at++) {
    if (source.startsWith(quote, at)) return at;
    if (!isRaw && source.charAt(at) === '\\') at += 1;
  }
  return source.length;
}
