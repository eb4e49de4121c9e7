import type { Expr } from './ast.ts';
import { check } from './check.ts';
import { compile, type Step, type Variables } from './compile.ts';
import { estimateCost } from './cost.ts';
import type { Environment } from './environment.ts';
import { formatIssues, type Issue } from './issues.ts';
import { PER_CALL_LIMIT } from './limits.ts';
import { validateLiterals } from './literals.ts';
import { Meter, type Now } from './meter.ts';
import { parse } from './parse.ts';
import type { CelType } from './types.ts';
import { type CelValue, EvaluationError } from './values.ts';

/** The cost and time limits of one evaluation. */
export interface Allowance {
  readonly costLimit?: number;
  readonly now?: Now;
  /** A time of the clock `now`. */
  readonly deadline?: number;
}

export type Outcome =
  | { readonly value: CelValue; readonly cost: number; readonly error?: undefined }
  | { readonly error: Error; readonly cost: number; readonly value?: undefined };

/** A checked expression that can be evaluated many times. */
export class Program {
  readonly type: CelType;
  /** The maximum estimated cost of one evaluation. */
  readonly maxCost: number;
  /** The outer variables that the expression names. */
  readonly names: ReadonlySet<string>;
  readonly #step: Step;

  constructor(step: Step, facts: { type: CelType; maxCost: number; names: ReadonlySet<string> }) {
    this.#step = step;
    this.type = facts.type;
    this.maxCost = facts.maxCost;
    this.names = facts.names;
  }

  /** Never throws for a failure of the expression. Any other error passes through. */
  evaluate(variables: Variables, allowance: Allowance = {}): Outcome {
    const meter = new Meter(allowance.costLimit ?? PER_CALL_LIMIT, allowance.now, allowance.deadline);
    try {
      // Many evaluations that are each too short to look share one deadline.
      meter.lookAtClock();
      const value = this.#step({ variables, locals: [], meter, context: { meter } });
      return { value, cost: meter.spent };
    } catch (error) {
      return { error: asEvaluationError(error), cost: meter.spent };
    }
  }
}

function asEvaluationError(error: unknown): Error {
  // Deep recursion over a deep value counts as a failed evaluation.
  if (error instanceof RangeError) return new EvaluationError('evaluation is nested too deeply');
  if (error instanceof Error && (error.name === 'EvaluationError' || error.name === 'BudgetExceeded')) return error;
  throw error;
}

export type Compiled =
  | { readonly program: Program; readonly issues?: undefined }
  | { readonly program?: undefined; readonly issues: readonly Issue[]; readonly message: string };

/** Parses, checks and compiles an expression. `message` describes its errors with their positions. */
export function compileExpression(source: string, environment: Environment): Compiled {
  const parsed = parse(source);
  if (parsed.expr === undefined) return failed(source, parsed.issues);
  const checked = check(parsed.expr, environment);
  if ('issues' in checked) return failed(source, checked.issues);
  const literals = validateLiterals(parsed.expr, checked, environment.patterns);
  if (literals.length > 0) return failed(source, literals);
  const maxCost = estimateCost(parsed.expr, checked, environment).max;
  const names = freeNames(parsed.expr);
  return { program: new Program(compile(parsed.expr, checked), { type: checked.type, maxCost, names }) };
}

function failed(source: string, issues: readonly Issue[]): Compiled {
  return { issues, message: formatIssues(source, issues) };
}

/** Returns the names of outer variables. */
export function freeNames(expr: Expr): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: Expr | undefined, bound: ReadonlySet<string>): void => {
    if (node === undefined) return;
    switch (node.op) {
      case 'literal':
        return;
      case 'ident':
        if (!bound.has(node.name)) names.add(node.name);
        return;
      case 'select':
        return visit(node.operand, bound);
      case 'call':
        for (const each of [node.target, ...node.args]) visit(each, bound);
        return;
      case 'list':
        for (const each of node.items) visit(each, bound);
        return;
      case 'map':
        for (const each of node.entries.flat()) visit(each, bound);
        return;
      case 'fold': {
        visit(node.range, bound);
        const inner = new Set([...bound, ...node.variables]);
        visit(node.condition, inner);
        return visit(node.transform, inner);
      }
      case 'optMap':
        visit(node.target, bound);
        return visit(node.body, new Set([...bound, node.variable]));
    }
  };
  visit(expr, new Set());
  return names;
}
