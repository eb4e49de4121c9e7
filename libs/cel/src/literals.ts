import type { Expr } from './ast.ts';
import type { Checked } from './check.ts';
import type { Issue } from './issues.ts';
import { parseDuration, parseTimestamp } from './library/time-text.ts';
import { compilePattern } from './patterns.ts';

/** Finds invalid patterns, durations and timestamps in literals. */
export function validateLiterals(expr: Expr, checked: Checked): readonly Issue[] {
  const issues: Issue[] = [];
  visit(expr, checked, issues);
  return issues;
}

function visit(expr: Expr, checked: Checked, issues: Issue[]): void {
  switch (expr.op) {
    case 'select':
      return visit(expr.operand, checked, issues);
    case 'call': {
      const args = checked.calls.get(expr.id)?.args ?? expr.args;
      validateCall(expr.name, args, issues);
      for (const each of args) visit(each, checked, issues);
      return;
    }
    case 'list':
      for (const each of expr.items) visit(each, checked, issues);
      return;
    case 'map':
      for (const each of expr.entries.flat()) visit(each, checked, issues);
      return;
    case 'fold':
      for (const each of [expr.range, expr.condition, expr.transform]) {
        if (each !== undefined) visit(each, checked, issues);
      }
      return;
    case 'optMap':
      visit(expr.target, checked, issues);
      return visit(expr.body, checked, issues);
    default:
  }
}

function validateCall(name: string, args: readonly Expr[], issues: Issue[]): void {
  const literal = name === 'matches' ? args[1] : args[0];
  if (literal?.op !== 'literal' || typeof literal.value !== 'string') return;
  const problem = problemOf(name, literal.value);
  if (problem !== undefined) issues.push({ offset: literal.offset, message: problem });
}

function problemOf(name: string, text: string): string | undefined {
  switch (name) {
    case 'matches':
      return isPattern(text) ? undefined : 'invalid matches argument';
    case 'duration':
      return reads(() => parseDuration(text)) ? undefined : 'invalid duration argument';
    case 'timestamp':
      return reads(() => parseTimestamp(text)) ? undefined : 'invalid timestamp argument';
    default:
      return undefined;
  }
}

function isPattern(text: string): boolean {
  return reads(() => compilePattern(text));
}

function reads(read: () => unknown): boolean {
  try {
    return read() !== undefined;
  } catch {
    return false;
  }
}
