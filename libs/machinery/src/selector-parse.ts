import {
  aggregate,
  compileRequirements,
  createRequirement,
  EVERYTHING,
  type LabelSelectorMatcher,
  labelKeyErrors,
  type Requirement,
  SelectorError,
  type SelectorOperator,
} from './selectors.ts';

type TokenKind = 'end' | 'identifier' | 'in' | 'notin' | '(' | ')' | ',' | '!' | '=' | '==' | '!=' | '>' | '<';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const END: Token = Object.freeze({ kind: 'end', text: '' });
const OPERATOR_OF: ReadonlyMap<TokenKind, SelectorOperator> = new Map([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '=='],
  ['!=', '!='],
  ['>', 'gt'],
  ['<', 'lt'],
]);
const OPERATORS = 'in, notin, =, ==, !=, gt, lt';

/** Throws SelectorError with the words of Kubernetes' parser. */
export function parseLabelSelector(text: string): LabelSelectorMatcher {
  const requirements = new Parser(text).parse();
  return requirements.length === 0 ? EVERYTHING : compileRequirements(requirements);
}

function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const scanner = /\s*(==|!=|[=!(),><]|[^\s=!(),><]+)/y;
  for (let match = scanner.exec(text); match !== null; match = scanner.exec(text)) {
    tokens.push(tokenOf(match[1] ?? ''));
  }
  return tokens;
}

function tokenOf(text: string): Token {
  switch (text) {
    case 'in':
    case 'notin':
    case '(':
    case ')':
    case ',':
    case '!':
    case '=':
    case '==':
    case '!=':
    case '>':
    case '<':
      return { kind: text, text };
    default:
      return { kind: 'identifier', text };
  }
}

/** `in` and `notin` are plain words in the position of a key or a value. */
const asWord = (token: Token): Token =>
  token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;

const startsRequirement = (token: Token): boolean => token.kind === 'identifier' || token.kind === '!';

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  parse(): readonly Requirement[] {
    const requirements: Requirement[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === 'end') return requirements;
      if (!startsRequirement(token)) {
        throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#parseRequirement());
      const separator = this.#take();
      if (separator.kind === 'end') return requirements;
      if (separator.kind !== ',') {
        throw new SelectorError(`found '${separator.text}', expected: ',' or 'end of string'`);
      }
      const next = this.#peek();
      if (!startsRequirement(next)) throw new SelectorError(`found '${next.text}', expected: identifier after ','`);
    }
  }

  #parseRequirement(): Requirement {
    try {
      const { key, operator } = this.#parseKey();
      if (operator !== undefined) return createRequirement(key, operator, []);
      const chosen = this.#parseOperator();
      const values = chosen === 'in' || chosen === 'notin' ? this.#parseValues() : [this.#parseExactValue()];
      return createRequirement(key, chosen, values);
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      throw new SelectorError(`unable to parse requirement: ${error.message}`, { cause: error });
    }
  }

  #parseKey(): { key: string; operator?: 'exists' | '!' } {
    let token = this.#take();
    const negated = token.kind === '!';
    if (negated) token = this.#take();
    if (token.kind !== 'identifier') throw new SelectorError(`found '${token.text}', expected: identifier`);
    const wrong = labelKeyErrors(token.text, '<nil>');
    if (wrong.length > 0) throw new SelectorError(aggregate(wrong));
    if (negated) return { key: token.text, operator: '!' };
    const next = this.#peek();
    return next.kind === 'end' || next.kind === ',' ? { key: token.text, operator: 'exists' } : { key: token.text };
  }

  #parseOperator(): SelectorOperator {
    const token = this.#takeOperator();
    const operator = OPERATOR_OF.get(token.kind);
    if (operator === undefined) throw new SelectorError(`found '${token.text}', expected: ${OPERATORS}`);
    return operator;
  }

  #parseValues(): readonly string[] {
    const open = this.#take();
    if (open.kind !== '(') throw new SelectorError(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind === ')') {
      this.#take();
      return [];
    }
    if (first.kind !== 'identifier' && first.kind !== ',') {
      throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values = this.#parseValueList();
    this.#take();
    return values;
  }

  /**
   * Parses the text between parentheses, which may contain empty values: `(a,,b)`, `(,a)`, `(a,)`. Stops before `)`.
   */
  #parseValueList(): readonly string[] {
    const values: string[] = [];
    for (;;) {
      const token = this.#take();
      if (token.kind === 'identifier') {
        values.push(token.text);
        const next = this.#peek();
        if (next.kind === ')') return values;
        if (next.kind !== ',') throw new SelectorError(`found '${next.text}', expected: ',' or ')'`);
      } else if (token.kind === ',') {
        const next = this.#peek();
        if (values.length === 0 || next.kind === ')' || next.kind === ',') values.push('');
        if (next.kind === ')') return values;
        if (next.kind === ',') this.#take();
      } else {
        throw new SelectorError(`found '${token.text}', expected: ',', or identifier`);
      }
    }
  }

  #parseExactValue(): string {
    const next = this.#peek();
    if (next.kind === 'end' || next.kind === ',') return '';
    const token = this.#take();
    if (token.kind !== 'identifier') throw new SelectorError(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  #peek(): Token {
    return asWord(this.#tokens[this.#position] ?? END);
  }

  #takeOperator(): Token {
    const token = this.#tokens[this.#position] ?? END;
    this.#position += 1;
    return token;
  }

  #take(): Token {
    return asWord(this.#takeOperator());
  }
}
