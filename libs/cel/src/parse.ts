import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js';
import type { Expr } from './ast.ts';
import * as ast from './ast.ts';
import type { Issue } from './issues.ts';
import { MAX_AST_NODES, MAX_DEPTH, MAX_EXPRESSION_CHARS } from './limits.ts';
import { expandGlobalMacro, expandMemberMacro, MacroError } from './macros.ts';
import { type MarkedSource, markSource } from './marked-source.ts';
import { type CelValue, Uint } from './values.ts';

const MAX_INT = (1n << 63n) - 1n;
const MIN_INT = -(1n << 63n);

/** We use only the grammar of this library. Types, evaluation and costs are our own. */
const grammar = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  limits: {
    maxAstNodes: MAX_AST_NODES,
    maxDepth: MAX_DEPTH,
    maxListElements: MAX_AST_NODES,
    maxMapEntries: MAX_AST_NODES,
    maxCallArguments: MAX_AST_NODES,
  },
});

export type Parsed =
  | { readonly expr: Expr; readonly issues?: undefined }
  | { readonly expr?: undefined; readonly issues: readonly Issue[] };

/** Parses an expression and expands its macros. */
export function parse(source: string): Parsed {
  if (source.length > MAX_EXPRESSION_CHARS) {
    return {
      issues: [
        {
          offset: 0,
          message: `expression code point size exceeds limit: size: ${source.length}, limit ${MAX_EXPRESSION_CHARS}`,
        },
      ],
    };
  }
  try {
    const marked = markSource(source);
    return { expr: new Reader(marked).read(grammar.parse(marked.text).ast) };
  } catch (error) {
    return { issues: [issueOf(error, source)] };
  }
}

function issueOf(error: unknown, source: string): Issue {
  if (error instanceof MacroError) return { offset: error.offset, message: error.message };
  if (error instanceof ParseError) {
    return syntaxIssue(error, source);
  }
  // The library's depth counter does not cover every kind of nesting.
  if (error instanceof RangeError) return { offset: 0, message: 'Syntax error: expression is nested too deeply' };
  throw error;
}

const STARTS =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** Words the most common mistakes as Kubernetes does. */
function syntaxIssue(error: ParseError, source: string): Issue {
  const start = error.range?.start ?? 0;
  const found = source.slice(start, error.range?.end ?? start) || '<EOF>';
  return { offset: start, message: `Syntax error: ${syntaxText(error, { found, before: source.slice(0, start) })}` };
}

function syntaxText(error: ParseError, { found, before }: { found: string; before: string }): string {
  switch (error.code) {
    case 'unexpected_token':
      return `mismatched input '${found}' expecting ${STARTS}`;
    case 'unexpected_character':
      return `extraneous input '${found}' expecting <EOF>`;
    case 'expected_token':
      if (/\.\s*$/.test(before)) return `no viable alternative at input '.${found === '<EOF>' ? '' : found}'`;
      return firstLine(error.message);
    default:
      return firstLine(error.message);
  }
}

function firstLine(text: string): string {
  const end = text.indexOf('\n');
  return end === -1 ? text : text.slice(0, end);
}

/** Converts the library's syntax tree to ours. */
class Reader {
  readonly #source: string;
  readonly #marks: ReadonlySet<number>;
  readonly #rawStrings: ReadonlyMap<number, string>;
  #nextId = 1;

  constructor({ text, marks, rawStrings }: MarkedSource) {
    this.#source = text;
    this.#marks = marks;
    this.#rawStrings = rawStrings;
  }

  read(node: ASTNode): Expr {
    switch (node.op) {
      case 'value':
        return { op: 'literal', ...this.#at(node.start), value: this.#literal(node.args, node.start) };
      case 'id':
        return { op: 'ident', ...this.#at(node.start), name: node.args };
      case '.':
      case '.?':
        return this.#select(node.args[0], node.args[1], node.op === '.?');
      case 'call':
        return this.#globalCall(node.args[0], node.args[1], node.start);
      case 'rcall':
        return this.#memberCall(node.args[0], node.args[1], node.args[2]);
      case 'list':
        return {
          op: 'list',
          ...this.#at(node.start),
          items: node.args.map((each) => this.read(each)),
          optional: this.#optional(node.args),
        };
      case 'map':
        return {
          op: 'map',
          ...this.#at(node.start),
          entries: node.args.map(([key, value]) => [this.read(key), this.read(value)] as const),
          optional: this.#optional(node.args.map(([key]) => key)),
        };
      default:
        return this.#operator(node);
    }
  }

  #literal(value: unknown, start: number): CelValue {
    return this.#rawStrings.get(start) ?? literalOf(value, start);
  }

  /** The mark of an optional entry is its first character. */
  #optional(nodes: readonly ASTNode[]): ReadonlySet<number> {
    return new Set(nodes.flatMap(({ start }, index) => (this.#marks.has(start) ? [index] : [])));
  }

  #operator(node: ASTNode): Expr {
    switch (node.op) {
      case '[]':
      case '[?]': {
        const name = node.op === '[]' ? ast.INDEX : ast.OPTIONAL_INDEX;
        return this.#call(name, this.#after(node.args[0].end), node.args);
      }
      case '?:':
        return this.#call(ast.CONDITIONAL, this.#after(node.args[0].end), node.args);
      case '!_':
        return this.#marks.has(node.start) ? this.read(node.args) : this.#call(ast.NOT, node.start, [node.args]);
      case '-_':
        return this.#negated(node.args, node.start);
      case '||':
      case '&&':
      case 'in':
        return this.#call(OPERATORS.get(node.op) ?? node.op, this.#after(node.args[0].end), node.args);
      default: {
        const [left, right] = node.args as unknown as [ASTNode, ASTNode];
        return this.#call(`_${node.op}_`, this.#after(left.end), [left, right]);
      }
    }
  }

  #negated(operand: ASTNode, start: number): Expr {
    if (operand.op === 'value' && typeof operand.args === 'bigint') {
      return { op: 'literal', ...this.#at(start), value: checkedInt(-operand.args, start) };
    }
    if (operand.op === 'value' && typeof operand.args === 'number') {
      return { op: 'literal', ...this.#at(start), value: -operand.args };
    }
    return this.#call(ast.NEGATE, start, [operand]);
  }

  #select(operand: ASTNode, field: string, optional: boolean): Expr {
    const offset = this.#after(operand.end);
    const read = this.read(operand);
    return { op: 'select', ...this.#at(offset), operand: read, field, mode: optional ? 'optional' : 'value' };
  }

  #globalCall(name: string, args: readonly ASTNode[], start: number): Expr {
    const read = args.map((each) => this.read(each));
    const place = this.#at(start + name.length);
    return expandGlobalMacro(place, name, read) ?? { op: 'call', ...place, name, target: undefined, args: read };
  }

  #memberCall(name: string, receiver: ASTNode, args: readonly ASTNode[]): Expr {
    const target = this.read(receiver);
    const open = this.#source.indexOf('(', this.#source.indexOf(name, receiver.end) + name.length);
    const read = args.map((each) => this.read(each));
    const place = this.#at(open);
    return expandMemberMacro(place, { name, target, args: read }) ?? { op: 'call', ...place, name, target, args: read };
  }

  #call(name: string, offset: number, args: readonly ASTNode[]): Expr {
    return { op: 'call', ...this.#at(offset), name, target: undefined, args: args.map((each) => this.read(each)) };
  }

  #at(offset: number): { id: number; offset: number } {
    return { id: this.#nextId++, offset };
  }

  /** Returns the first character after an operand that is not space, a closing bracket or a comment. */
  #after(end: number): number {
    let place = end;
    for (;;) {
      const char = this.#source.charAt(place);
      if (char === '/' && this.#source.charAt(place + 1) === '/') {
        const line = this.#source.indexOf('\n', place);
        place = line === -1 ? this.#source.length : line;
      } else if (char !== '' && (char === ')' || char.trim() === '')) {
        place += 1;
      } else {
        return place;
      }
    }
  }
}

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['||', ast.OR],
  ['&&', ast.AND],
  ['in', ast.IN],
]);

function literalOf(value: unknown, offset: number): CelValue {
  if (typeof value === 'bigint') return checkedInt(value, offset);
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number') {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  // The library wraps unsigned numbers in a class of its own with a primitive inside.
  return new Uint(BigInt((value as { valueOf(): bigint }).valueOf()));
}

function checkedInt(value: bigint, offset: number): bigint {
  if (value > MAX_INT || value < MIN_INT) throw new MacroError(offset, 'Syntax error: invalid int literal');
  return value;
}
