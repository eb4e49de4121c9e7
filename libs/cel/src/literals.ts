import type { PatternRoom } from '@holdfast/api';
import type { Expr } from './ast.ts';
import type { Checked } from './check.ts';
import type { Issue } from './issues.ts';
import { parseDuration, parseTimestamp } from './library/time-text.ts';
import { patternProblem } from './patterns.ts';

/** Finds invalid patterns, durations and timestamps in literals. */
export function validateLiterals(expr: Expr, checked: Checked, patterns: PatternRoom): readonly Issue[] {
  const literals: Literals = { issues: [], patterns };
  visit(expr, checked, literals);
  return literals.issues;
}

interface Literals {
  readonly issues: Issue[];
  readonly patterns: PatternRoom;
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
  const problem = problemOf(name, literal.value, literals.patterns);
  if (problem !== undefined) literals.issues.push({ offset: literal.offset, message: problem });
}

function problemOf(name: string, text: string, patterns: PatternRoom): string | undefined {
  switch (name) {
    case 'matches':
      return patterns.fits(text) && patternProblem(text) === undefined ? undefined : 'invalid matches argument';
    case 'duration':
      return reads(() => parseDuration(text)) ? undefined : 'invalid duration argument';
    case 'timestamp':
      return reads(() => parseTimestamp(text)) ? undefined : 'invalid timestamp argument';
    default:
      return undefined;
  }
}

function reads(read: () => unknown): boolean {
  try {
    return read() !== undefined;
  } catch {
    return false;
  }
}
