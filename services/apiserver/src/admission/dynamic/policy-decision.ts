import type { CelValue, MapValue } from '@holdfast/cel';
import { cel } from '../../expressions/load.ts';
import type { PolicyFault } from '../metrics.ts';
import type {
  CompiledAuditAnnotation,
  CompiledPolicy,
  CompiledValidation,
  CompiledVariable,
} from './compiled-policies.ts';
import type { TimeAllowance } from './evaluation-time.ts';
import type { CompiledText, Values } from './expressions.ts';

/** The objection of one validation to a request. */
export interface Objection {
  readonly message: string;
  /** As in a Status. */
  readonly reason: string;
  /** Place of the validation in the policy. */
  readonly index: number;
  readonly fault: PolicyFault;
}

/** A validation that could not be evaluated and is left out, because the policy ignores failures. */
export interface LeftOut {
  readonly fault: PolicyFault;
}

export interface PolicyVerdict {
  readonly objections: readonly Objection[];
  readonly leftOut: readonly LeftOut[];
  /** Audit annotations that could not be evaluated: they refuse the request, unless the policy ignores failures. */
  readonly annotationFaults: readonly Objection[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
}

export const NO_VERDICT: PolicyVerdict = { objections: [], leftOut: [], annotationFaults: [], annotations: [] };

const MESSAGE_BYTES_MAX = 5 * 1024;
const ANNOTATION_BYTES_MAX = 10 * 1024;

export interface Judged {
  readonly values: Values;
  readonly params: CelValue | undefined;
  readonly time: TimeAllowance;
}

/** Evaluates the validations of a policy for one set of parameters, within one budget. */
export function verdictOf(policy: CompiledPolicy, judged: Judged): PolicyVerdict {
  const run = new PolicyRun(policy, judged);
  for (const [index, validation] of policy.validations.entries()) run.judge(validation, index);
  for (const [index, annotation] of policy.auditAnnotations.entries()) run.annotate(annotation, index);
  return run.verdict;
}

class PolicyRun {
  readonly verdict = {
    objections: [] as Objection[],
    leftOut: [] as LeftOut[],
    annotationFaults: [] as Objection[],
    annotations: [] as { readonly key: string; readonly value: string }[],
  };
  readonly #policy: CompiledPolicy;
  readonly #judged: Judged;
  readonly #known = new Map<CompiledVariable, { readonly value: CelValue } | { readonly problem: string }>();
  #budget: number;

  constructor(policy: CompiledPolicy, judged: Judged) {
    this.#policy = policy;
    this.#judged = judged;
    this.#budget = cel().RUNTIME_COST_BUDGET;
  }

  judge({ source, compiled, message }: CompiledValidation, index: number): void {
    try {
      if (this.#evaluate(compiled) === true) return;
    } catch (error) {
      const why = messageOf(error);
      const fault = faultOf(error, compiled);
      if (this.#ignoresFaults) this.verdict.leftOut.push({ fault });
      else {
        const text = `expression '${source.expression}' resulted in error: ${why}`;
        this.verdict.objections.push({ message: text, reason: 'Invalid', index, fault });
      }
      return;
    }
    this.verdict.objections.push({
      message: this.#message(message) ?? (source.message?.trim() || `failed expression: ${source.expression.trim()}`),
      reason: source.reason ?? 'Invalid',
      index,
      fault: 'no_error',
    });
  }

  annotate({ key, expression, compiled }: CompiledAuditAnnotation, index: number): void {
    try {
      const value = this.#evaluate(compiled);
      if (value === null) return;
      if (typeof value === 'string') {
        const trimmed = value.trim();
        if (trimmed !== '') this.verdict.annotations.push({ key, value: cutTo(trimmed, ANNOTATION_BYTES_MAX) });
        return;
      }
      const text = `valueExpression '${expression}' resulted in unsupported return type. Return type must be either string or null.`;
      this.#annotationFault(text, index, 'invalid_error');
    } catch (error) {
      const text = `expression '${expression}' resulted in error: ${messageOf(error)}`;
      this.#annotationFault(text, index, faultOf(error, compiled));
    }
  }

  #annotationFault(message: string, index: number, fault: PolicyFault): void {
    if (this.#ignoresFaults) this.verdict.leftOut.push({ fault });
    else this.verdict.annotationFaults.push({ message, reason: 'Invalid', index, fault });
  }

  get #ignoresFaults(): boolean {
    return this.#policy.policy.spec.failurePolicy === 'Ignore';
  }

  /** Undefined when the expression gives no usable text. */
  #message(expression: CompiledText | undefined): string | undefined {
    if (expression === undefined) return undefined;
    try {
      const text = this.#evaluate(expression);
      if (typeof text !== 'string') return undefined;
      const trimmed = text.trim();
      return trimmed === '' || trimmed.includes('\n') || Buffer.byteLength(trimmed) > MESSAGE_BYTES_MAX
        ? undefined
        : trimmed;
    } catch (error) {
      messageOf(error);
      return undefined;
    }
  }

  /** `seen`: how many variables of the policy the expression sees. */
  #evaluate({ program, problem }: CompiledText, seen = this.#policy.variables.length): CelValue {
    const { EvaluationError, PER_CALL_LIMIT } = cel();
    if (program === undefined) throw new EvaluationError(problem);
    if (this.#budget <= 0)
      throw new EvaluationError(
        'validation failed due to running out of cost budget, no further validation rules will be run',
      );
    const costLimit = Math.min(PER_CALL_LIMIT, this.#budget);
    const outcome = program.evaluate(this.#valuesBefore(seen), { costLimit, ...this.#judged.time });
    this.#budget -= outcome.cost;
    if (outcome.error !== undefined) throw outcome.error;
    return outcome.value;
  }

  #valuesBefore(seen: number): Values {
    return (name) => {
      if (name === 'variables') return new SeenVariables(this.#policy.variables, seen, this.#variable);
      return name === 'params' ? (this.#judged.params ?? null) : this.#judged.values(name);
    };
  }

  /** Evaluated when it is first used, at most once. It sees only the variables before it, so it never refers to itself. */
  readonly #variable = (variable: CompiledVariable, index: number): CelValue => {
    const known = this.#known.get(variable) ?? this.#firstUse(variable, index);
    if ('value' in known) return known.value;
    const why = `composited variable "${variable.name}" fails to evaluate: ${known.problem}`;
    throw new (cel().EvaluationError)(why);
  };

  /** A failure is remembered as well: `||` may ask for the variable again, and so may each variable after it. */
  #firstUse(variable: CompiledVariable, index: number) {
    let known: { readonly value: CelValue } | { readonly problem: string };
    try {
      known = { value: this.#evaluate(variable.compiled, index) };
    } catch (error) {
      known = { problem: messageOf(error) };
    }
    this.#known.set(variable, known);
    return known;
  }
}

/** Returns the message of a failed expression; rethrows any other error. */
function messageOf(error: unknown): string {
  const { BudgetExceeded, EvaluationError } = cel();
  if (error instanceof EvaluationError || error instanceof BudgetExceeded) return error.message;
  throw error;
}

function faultOf(error: unknown, { problem }: CompiledText): PolicyFault {
  if (problem !== undefined) return 'compile_error';
  return error instanceof cel().BudgetExceeded ? 'out_of_budget' : 'invalid_error';
}

function cutTo(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}

/** The first variables of a policy, as an expression sees them. Of those with one name the last counts. */
class SeenVariables implements MapValue {
  readonly celKind = 'map';
  readonly isObject = true;
  readonly typeName = 'kubernetes.variables';
  readonly #all: readonly CompiledVariable[];
  readonly #seen: number;
  readonly #valueOf: (variable: CompiledVariable, index: number) => CelValue;

  constructor(
    all: readonly CompiledVariable[],
    seen: number,
    valueOf: (variable: CompiledVariable, index: number) => CelValue,
  ) {
    this.#all = all;
    this.#seen = seen;
    this.#valueOf = valueOf;
  }

  get size(): number {
    return this.#seen;
  }

  get(key: CelValue): CelValue | undefined {
    for (let index = this.#seen - 1; index >= 0; index--) {
      const variable = this.#all[index];
      if (variable?.name === key) return this.#valueOf(variable, index);
    }
    return undefined;
  }

  keys(): Iterable<CelValue> {
    return new Set(this.#all.slice(0, this.#seen).map(({ name }) => name));
  }
}
