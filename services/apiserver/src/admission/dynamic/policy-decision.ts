import type { CelValue, MapValue } from '@holdfast/cel';
import { cel } from '../../expressions/load.ts';
import type { CompiledPolicy, CompiledValidation } from './compiled-policies.ts';
import type { CompiledText, Values } from './expressions.ts';

/** What one validation of a policy says against a request. */
export interface Objection {
  readonly message: string;
  /** As in a Status. */
  readonly reason: string;
}

const MESSAGE_BYTES_MAX = 5 * 1024;

/** Evaluates the validations of a policy for one set of parameters, within one budget. */
export function objectionsOf(
  policy: CompiledPolicy,
  values: Values,
  params: CelValue | undefined,
): readonly Objection[] {
  const run = new PolicyRun(policy, values, params);
  return policy.validations.flatMap((validation) => run.judge(validation) ?? []);
}

class PolicyRun {
  readonly #policy: CompiledPolicy;
  readonly #values: Values;
  readonly #params: CelValue | undefined;
  readonly #variables: MapValue;
  #budget: number;

  constructor(policy: CompiledPolicy, values: Values, params: CelValue | undefined) {
    this.#policy = policy;
    this.#values = values;
    this.#params = params;
    this.#budget = cel().RUNTIME_COST_BUDGET;
    this.#variables = new LazyVariables(policy.variables, (text) => this.#evaluate(text));
  }

  judge({ source, compiled, message }: CompiledValidation): Objection | undefined {
    const reason = source.reason ?? 'Invalid';
    try {
      if (this.#evaluate(compiled) === true) return undefined;
    } catch (error) {
      const why = messageOf(error);
      if (this.#policy.policy.spec.failurePolicy === 'Ignore') return undefined;
      return { message: `expression '${source.expression}' resulted in error: ${why}`, reason: 'Invalid' };
    }
    return {
      message: this.#message(message) ?? (source.message?.trim() || `failed expression: ${source.expression.trim()}`),
      reason,
    };
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

  #evaluate({ program, problem }: CompiledText): CelValue {
    const { EvaluationError, PER_CALL_LIMIT } = cel();
    if (program === undefined) throw new EvaluationError(problem);
    if (this.#budget <= 0)
      throw new EvaluationError(
        'validation failed due to running out of cost budget, no further validation rules will be run',
      );
    const outcome = program.evaluate(this.#get, { costLimit: Math.min(PER_CALL_LIMIT, this.#budget) });
    this.#budget -= outcome.cost;
    if (outcome.error !== undefined) throw outcome.error;
    return outcome.value;
  }

  readonly #get: Values = (name) => {
    if (name === 'variables') return this.#variables;
    return name === 'params' ? (this.#params ?? null) : this.#values(name);
  };
}

/** Failures of an expression are told; any other fault passes. */
function messageOf(error: unknown): string {
  const { BudgetExceeded, EvaluationError } = cel();
  if (error instanceof EvaluationError || error instanceof BudgetExceeded) return error.message;
  throw error;
}

/** The variables of a policy, each evaluated when it is first used, at most once. */
class LazyVariables implements MapValue {
  readonly celKind = 'map';
  readonly isObject = true;
  readonly typeName = 'kubernetes.variables';
  readonly #texts: ReadonlyMap<string, CompiledText>;
  readonly #evaluate: (text: CompiledText) => CelValue;
  readonly #known = new Map<string, CelValue>();

  constructor(texts: ReadonlyMap<string, CompiledText>, evaluate: (text: CompiledText) => CelValue) {
    this.#texts = texts;
    this.#evaluate = evaluate;
  }

  get size(): number {
    return this.#texts.size;
  }

  get(key: CelValue): CelValue | undefined {
    const text = typeof key === 'string' ? this.#texts.get(key) : undefined;
    if (typeof key !== 'string' || text === undefined) return undefined;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const value = this.#computed(key, text);
    this.#known.set(key, value);
    return value;
  }

  keys(): Iterable<CelValue> {
    return this.#texts.keys();
  }

  #computed(name: string, text: CompiledText): CelValue {
    try {
      return this.#evaluate(text);
    } catch (error) {
      throw new (cel().EvaluationError)(`composited variable "${name}" fails to evaluate: ${messageOf(error)}`);
    }
  }
}
