import { patternSize } from '@holdfast/api';
import type { Expr } from './ast.ts';
import type { Checked } from './check.ts';
import type { Issue } from './issues.ts';
import { parseDuration, parseTimestamp } from './library/time-text.ts';
import { MAX_PATTERNS_WEIGHT } from './limits.ts';
import { patternProblem } from './patterns.ts';

/** Finds invalid patterns, durations and timestamps in literals. */
export function validateLiterals(expr: Expr, checked: Checked): readonly Issue[] {
  const literals: Literals = { issues: [], patterns: new Set(), weight: 0 };
  visit(expr, checked, literals);
  return literals.issues;
}

interface Literals {
  readonly issues: Issue[];
  readonly patterns: Set<string>;
  /** The sum for all different patterns. */
  weight: number;
}

function visit(expr: Expr, checked: Checked, literals: Literals): void {
  switch (expr.op) {
    case 'select':
      return visit(expr.operand, checked, literals);
    case 'call': {
      const args = checked.calls.get(expr.id)?.args ?? expr.args;
      validateCall(expr.name, args, literals);
      for (const each of args) visit(each, checked, literals);
      return;
    }
    case 'list':
      for (const each of expr.items) visit(each, checked, literals);
      return;
    case 'map':
      for (const each of expr.entries.flat()) visit(each, checked, literals);
      return;
    case 'fold':
      for (const each of [expr.range, expr.condition, expr.transform]) {
        if (each !== undefined) visit(each, checked, literals);
      }
      return;
    case 'optMap':
      visit(expr.target, checked, literals);
      return visit(expr.body, checked, literals);
    default:
  }
}

function validateCall(name: string, args: readonly Expr[], literals: Literals): void {
  const literal = name === 'matches' ? args[1] : args[0];
  if (literal?.op !== 'literal' || typeof literal.value !== 'string') return;
  const problem = problemOf(name, literal.value, literals);
  if (problem !== undefined) literals.issues.push({ offset: literal.offset, message: problem });
}

function problemOf(name: string, text: string, literals: Literals): string | undefined {
  switch (name) {
    case 'matches':
      return isPattern(text, literals) ? undefined : 'invalid matches argument';
    case 'duration':
      return reads(() => parseDuration(text)) ? undefined : 'invalid duration argument';
    case 'timestamp':
      return reads(() => parseTimestamp(text)) ? undefined : 'invalid timestamp argument';
    default:
      return undefined;
  }
}

/** Compiles at most so much for one expression, whether the patterns are known already or not. */
function isPattern(text: string, literals: Literals): boolean {
  if (!literals.patterns.has(text)) literals.weight += patternSize(text).weight;
  literals.patterns.add(text);
  return literals.weight <= MAX_PATTERNS_WEIGHT && patternProblem(text) === undefined;
}

function reads(read: () => unknown): boolean {
  try {
    return read() !== undefined;
  } catch {
    return false;
  }
}
